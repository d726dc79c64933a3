#pragma once
/// Whether a run continued: progress and completion among the lines of a log. A failure that a run survived
/// does not count.

#include "log/line_patterns.h"

#include <rekindle/doctor/diagnosis.h>

#include <cstddef>
#include <vector>

namespace rekindle::doctor {

/// The patterns of lines that report progress, completion or failure. Adds them to a LinePatterns, so that a
/// log is searched once, and keeps a reference to it.
class ProgressPatterns {
  public:
    enum class Kind {
        counted,        ///< a step, an epoch, an iteration
        measured,       ///< a figure that training prints with it
        step_complaint, ///< words that a step that went well does not have
        bar,            ///< a progress bar; the group is its position
        end,
        not_the_end,
        complaint,
        of_the_kernel, ///< a complaint that is judged by its signature
        exception,
        consequence, ///< an exception that follows from an earlier one
    };
    static constexpr std::size_t kinds = 10;

    explicit ProgressPatterns(LinePatterns& patterns);

    int number(Kind kind) const noexcept { return first_ + static_cast<int>(kind); }
    bool owns(int number) const noexcept {
        return number >= first_ && number < first_ + static_cast<int>(kinds);
    }
    bool matches(Kind kind, std::string_view line) const { return patterns_.matches(number(kind), line); }
    const RE2& expression(Kind kind) const { return patterns_.expression(number(kind)); }

  private:
    const LinePatterns& patterns_;
    int first_ = 0;
};

class Progress {
  public:
    Progress() = default;
    /// `possible` must come from the same log.
    Progress(const LogText& log, const PossibleMatches& possible, const ProgressPatterns& patterns);

    /// Whether the run made progress, or finished, after this line.
    bool progressed_after(std::size_t line) const;
    /// Whether a later exception is more than a consequence of an earlier one.
    bool error_after(std::size_t line) const noexcept { return last_error_ != npos && last_error_ > line; }
    /// `last_failure`: index of the last line that a signature takes for a failure; npos for none.
    Outcome outcome(std::size_t last_failure) const;
    /// Whether some line has a word that means failure.
    bool complains() const noexcept { return last_complaint_ != npos; }

    static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  private:
    std::vector<std::size_t> steps_;    ///< lines that report progress, ascending
    std::vector<std::size_t> ends_;     ///< lines that say that the run finished
    std::size_t last_complaint_ = npos; ///< the last line with a word that means failure
    std::size_t last_error_ = npos;     ///< the last line with an exception that is not a consequence
};

} // namespace rekindle::doctor
