#pragma once
/// Whether a run continued: progress and completion among the lines of a log. A failure that a run survived
/// does not count.

#include <rekindle/doctor/diagnosis.h>

#include <cstddef>
#include <vector>

namespace rekindle::doctor {

class Progress {
  public:
    explicit Progress(const LogText& log);

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
