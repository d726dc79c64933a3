#pragma once
/// Holds rows until all are read and their order is known, in memory or in temporary files.

#include <rekindle/market/bars.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace rekindle::market::reading {

/// Rows in the order in which they arrived.
struct StagedRows {
    BarColumns bars;                     ///< without vix
    std::span<const std::uint32_t> line; ///< of the file, from 1; empty unless lines are kept
};

class RowStage {
  public:
    virtual ~RowStage() = default;
    /// Appends rows, without their vix. Throws Error naming the folder if a temporary file cannot be written.
    virtual void append(const BarBuffer& rows, std::span<const std::uint32_t> lines) = 0;
    /// Returns all rows. Call it once, after the last append; the spans are valid as long as the stage lives.
    virtual StagedRows finish() = 0;
    /// Moves the columns out without a copy; empty if they are not in memory.
    virtual BarBuffer take() { return {}; }
};

/// In memory, with room for `expected_rows`.
std::unique_ptr<RowStage> make_memory_stage(std::size_t expected_rows);
/// In unnamed temporary files in `folder`, which are deleted with the stage.
std::unique_ptr<RowStage> make_file_stage(const std::filesystem::path& folder);

/// Integers in an unnamed temporary file, appended and then mapped.
class NumberSpool {
  public:
    explicit NumberSpool(const std::filesystem::path& folder);
    ~NumberSpool();
    NumberSpool(NumberSpool&&) noexcept;
    NumberSpool& operator=(NumberSpool&&) = delete;
    void append(std::span<const std::byte> bytes);
    /// Everything appended so far, mapped read-only.
    std::span<const std::byte> map();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace rekindle::market::reading
