#pragma once
/// The bars that belong to sessions, one after another.

#include <rekindle/base/scratch_array.h>
#include <rekindle/market/bars.h>
#include <rekindle/market/session.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::market {

/// Positions count the bars of the sessions' contracts in chronological order; bars outside of sessions and
/// bars of other contracts are skipped. Keeps a reference to the sessions, which must outlive it. Read-only,
/// thread-safe.
class BarSequence {
  public:
    BarSequence(const BarTable& bars, std::span<const Session> sessions, const Workspace& workspace = {});

    std::size_t size() const noexcept { return bar_.size(); }
    /// Index of the bar in the table.
    std::size_t bar(std::size_t position) const noexcept { return bar_[position]; }
    const Session& session(std::size_t position) const noexcept { return sessions_[session_[position]]; }
    /// Releases these positions from memory for now (ScratchArray::release).
    void release(std::size_t first, std::size_t count) const noexcept {
        bar_.release(first, count);
        session_.release(first, count);
    }
    /// Session::roll_offset of the bar's session.
    std::int64_t roll_offset(std::size_t position) const noexcept { return session(position).roll_offset; }

  private:
    std::span<const Session> sessions_;
    ScratchArray<std::uint32_t> bar_;
    ScratchArray<std::uint32_t> session_;
};

} // namespace rekindle::market
