#pragma once
/// Finds which of many short texts occur in a line, in a single pass.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The texts are lowercase, not empty and distinct; matching ignores the case of the line's ASCII letters.
/// Each text has a window: up to four of its bytes, the ones that are rarest in logs. One lookup rules out
/// most positions of a line; where a window matches, the whole text is compared. Not thread-safe.
class TextFinder {
  public:
    TextFinder() = default;
    explicit TextFinder(const std::vector<std::string>& texts);

    /// Returns the indexes of the texts that occur in `line`, each once, in no particular order.
    void find(std::string_view line, std::vector<int>& found);
    /// Whether the text with this index occurred in the line that was searched last.
    bool found_last(int index) const noexcept { return seen_[static_cast<std::size_t>(index)] == line_; }

  private:
    static constexpr unsigned window_bytes = 4;
    static constexpr unsigned filter_bits = 17; ///< 16 KiB for each length of window
    static constexpr unsigned bucket_bits = 12;

    struct Entry {
        std::uint32_t window = 0; ///< the bytes, the first one lowest
        std::int32_t text = 0;
        std::uint32_t offset = 0; ///< of the window in the text
    };
    /// The texts whose windows have one length.
    struct Table {
        std::vector<std::uint64_t> filter; ///< one bit for each hash of a window
        std::vector<std::uint32_t> bucket; ///< hash → first entry; one more at the end
        std::vector<Entry> entries;        ///< by bucket
    };

    static void build(Table& table, std::vector<Entry> entries);
    void compare(const Table& table, std::uint32_t window, std::size_t at, std::vector<int>& found);
    template <bool with_short>
    void search(std::size_t size, std::vector<int>& found);

    std::vector<std::string> texts_;
    std::array<Table, window_bytes> tables_; ///< by length of the window, minus one
    std::string lowered_;                    ///< the line in lowercase, followed by zeros
    std::vector<std::uint32_t> seen_;        ///< text → the line in which it was last found
    std::uint32_t line_ = 0;
};

} // namespace rekindle::doctor
