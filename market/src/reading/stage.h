#pragma once
/// Where rows wait until all are read and their order is known: in memory or in temporary files.

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
    /// Appends rows; their vix is left out. Throws Error naming the folder when a temporary file cannot be
    /// written.
    virtual void append(const BarBuffer& rows, std::span<const std::uint32_t> lines) = 0;
    /// All rows. Call it once, after the last append; the spans live as long as the stage.
    virtual StagedRows finish() = 0;
    /// The columns themselves, to be taken without a copy; empty when they do not lie in memory.
    virtual BarBuffer take() { return {}; }
};

/// In memory, with room for `expected_rows`.
std::unique_ptr<RowStage> make_memory_stage(std::size_t expected_rows);
/// In unnamed temporary files of `folder`, which vanish with the stage.
std::unique_ptr<RowStage> make_file_stage(const std::filesystem::path& folder);

/// Whole numbers in an unnamed temporary file, appended and then mapped.
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
