#pragma once
/// Matches many patterns against one line in one pass.

#include <re2/re2.h>
#include <re2/set.h>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// RE2 patterns, case-insensitive, anywhere in a line. Not thread-safe while patterns are added.
class LinePatterns {
  public:
    LinePatterns();

    /// The number of the pattern; -1 when it is invalid (the knowledge checker reports those).
    int add(std::string_view pattern);
    void compile();
    /// Numbers of the patterns that `line` matches, ascending. Precondition: compile() was called.
    void match(std::string_view line, std::vector<int>& numbers) const;

  private:
    RE2::Options options_;
    RE2::Set set_;
    std::vector<std::string> patterns_; ///< for when the set's automaton exceeds its memory limit
    bool compiled_ = false;
};

} // namespace rekindle::doctor
