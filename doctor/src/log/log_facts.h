#pragma once
/// What a log itself shows of the host on which it was written.

#include "log/line_patterns.h"
#include "log/situation.h"

#include <memory>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Adds its patterns to a LinePatterns, so that a log is walked once, and takes facts from the lines that
/// they match.
class LogFacts {
  public:
    explicit LogFacts(LinePatterns& patterns);

    /// Whether pattern `number` is one of those that were added.
    bool owns(int number) const noexcept { return number >= first_ && number < last_; }
    /// Takes what pattern `number` finds in `line`. `source` is "log line 12". Lines come from the last
    /// upwards: what a log says last of a thing stands, and after `take_limit` lines a pattern takes no more.
    void take(int number, std::string_view line, std::string_view source, const Knowledge& knowledge);

    /// Everything that was taken, not yet derived.
    const Situation& shown() const noexcept { return shown_; }
    /// Forgets the log.
    void clear();

  private:
    static constexpr int take_limit = 300;

    std::vector<std::unique_ptr<RE2>> expressions_;
    std::vector<int> taken_;
    int first_ = 0;
    int last_ = 0;
    Situation shown_;
};

/// Puts what the log shows beside what the host's facts say. The facts win; a log adds devices and what
/// nobody stated.
void add_shown(Situation& situation, const Situation& shown, const Knowledge& knowledge);

} // namespace rekindle::doctor
