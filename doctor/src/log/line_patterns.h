#pragma once
/// Matches many patterns against one line.

#include "log/text_finder.h"

#include <re2/filtered_re2.h>
#include <re2/re2.h>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The patterns are RE2's and match case-insensitively anywhere in a line. A pattern is tried only on lines
/// that contain the literal texts it needs to match, because a single automaton for all patterns would grow
/// without bound on random text. Not thread-safe.
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
    re2::FilteredRE2 patterns_;
    mutable TextFinder finder_;
    mutable std::vector<int> texts_; ///< indexes of the literal texts found in the current line
    bool compiled_ = false;
};

} // namespace rekindle::doctor
