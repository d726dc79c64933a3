#pragma once
/// Finds which of many short texts occur in a line, in a single pass (Aho and Corasick, 1975).

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The texts are lowercase, and matching ignores the case of the line. Not thread-safe.
class TextFinder {
  public:
    TextFinder() = default;
    explicit TextFinder(const std::vector<std::string>& texts);

    /// Returns the indexes of the texts that occur in `line`, each once, in no particular order.
    void find(std::string_view line, std::vector<int>& found);

  private:
    static constexpr std::int32_t none = -1;

    std::int32_t& next(std::int32_t state, std::uint8_t kind) {
        return next_[static_cast<std::size_t>(state) * kinds_ + kind];
    }
    void add(const std::string& text, int index);
    void add_fallbacks();

    std::array<std::uint8_t, 256> kind_of_{}; ///< byte → column; 0 for bytes that no text contains
    std::size_t kinds_ = 1;
    std::vector<std::int32_t> next_;    ///< state × column → state
    std::vector<std::int32_t> text_;    ///< state → index of the text that ends there, or none
    std::vector<std::int32_t> shorter_; ///< state → the longest suffix at which a text ends, or none
    std::vector<std::uint32_t> seen_;   ///< text → the line in which it was last found
    std::uint32_t line_ = 0;
};

} // namespace rekindle::doctor
