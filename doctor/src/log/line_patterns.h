#pragma once
/// Matches many patterns against the lines of a log.

#include "log/text_finder.h"
#include "text/needed_texts.h"

#include <rekindle/doctor/diagnosis.h>

#include <map>
#include <memory>
#include <re2/re2.h>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rekindle::doctor {

/// The lines of a log that a pattern may match, in order. Most logs have few of them.
struct PossibleMatches {
    struct Line {
        std::size_t index = 0; ///< in the log
        std::size_t begin = 0; ///< of its pattern numbers in `numbers`
        std::size_t end = 0;
    };
    std::vector<Line> lines;
    std::vector<int> numbers;

    /// The patterns that may match the line, ascending.
    std::span<const int> of(const Line& line) const noexcept {
        return std::span(numbers).subspan(line.begin, line.end - line.begin);
    }
};

/// The patterns are RE2's and match case-insensitively anywhere in a line, unless they begin with (?-i). A
/// pattern is compiled at its first use and tried only on lines that contain the literal texts it needs:
/// most patterns are never compiled, and most lines are only searched for texts. Not thread-safe.
class LinePatterns {
  public:
    /// The needed texts of patterns that were analyzed before, by pattern. Other patterns are analyzed when
    /// added, which takes up to a millisecond.
    using Known = std::map<std::string, NeededTexts, std::less<>>;

    LinePatterns() = default;
    /// `known` must outlive this object.
    explicit LinePatterns(const Known& known) : known_(&known) {}

    /// The number of the pattern; -1 when it is invalid (the knowledge checker reports those).
    int add(std::string_view pattern);
    /// The needed texts of all patterns that were added.
    Known known() const;
    std::size_t size() const noexcept { return patterns_.size(); }
    /// Prepares the search; no pattern can be added afterwards.
    void compile();

    /// Numbers of the patterns that may match `line` or a part of it, ascending. Precondition: compile() was
    /// called.
    void find_possible(std::string_view line, std::vector<int>& numbers) const;
    PossibleMatches find_possible(const LogText& log) const;
    bool matches(int number, std::string_view line) const;
    /// What a pattern sees of the text before its match.
    enum class LooksBack { no, at_a_character, at_the_start };
    LooksBack looks_back(int number) const { return patterns_[static_cast<std::size_t>(number)].looks_back; }
    /// Whether the pattern matches `rest`, the end of `line`. Precondition: it does not match the line.
    bool matches_only_rest(int number, std::string_view line, std::string_view rest) const;
    const RE2& expression(int number) const;

    /// Numbers of the patterns that `line` matches, ascending. Precondition: compile() was called.
    void match(std::string_view line, std::vector<int>& numbers) const;

  private:
    struct Pattern {
        std::string text;
        std::vector<std::vector<int>> groups; ///< as in NeededTexts; indexes of texts
        LooksBack looks_back = LooksBack::no;
        std::uint64_t line = 0;          ///< the last line that contains a text of the first group
        std::unique_ptr<RE2> expression; ///< null before the first use
    };

    int add_valid(std::string_view pattern, const NeededTexts& needed);
    bool needs_are_found(const Pattern& pattern) const;
    int index_of(const std::string& text);

    const Known* known_ = nullptr;
    mutable std::vector<Pattern> patterns_;
    std::vector<std::string> texts_;
    std::unordered_map<std::string, int> numbers_; ///< text → its index
    std::vector<std::vector<int>> patterns_of_;    ///< text → patterns whose first group contains it
    std::vector<int> always_;                      ///< patterns that need no text
    mutable TextFinder finder_;
    mutable std::vector<int> found_; ///< texts in the current line
    mutable std::uint64_t line_ = 0; ///< lines so far
};

} // namespace rekindle::doctor
