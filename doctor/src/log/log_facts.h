#pragma once
/// Facts that a log shows about the host on which it was written.

#include "conditions/situation.h"
#include "log/line_patterns.h"

#include <rekindle/doctor/knowledge.h>

#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Adds its patterns to a LinePatterns, so that a log is searched once, and takes facts from the lines that
/// they match. Keeps a reference to the LinePatterns.
class LogFacts {
  public:
    explicit LogFacts(LinePatterns& patterns);

    /// Whether pattern `number` is one of those added by this object.
    bool owns(int number) const noexcept { return number >= first_ && number < last_; }
    /// Whether another match of pattern `number` could still change a fact.
    bool wants(int number) const { return taken_.at(static_cast<std::size_t>(number - first_)) < take_limit; }
    /// Takes the facts that pattern `number` finds in `line`. `source` is "log line 12". Lines come from
    /// last to first: what a log says last about something counts, and after `take_limit` lines a pattern
    /// is ignored.
    void take(int number, std::string_view line, std::string_view source, const Knowledge& knowledge);

    /// Everything that was taken, before keys are derived.
    const Situation& shown() const noexcept { return shown_; }
    /// Forgets the log.
    void clear();

  private:
    static constexpr int take_limit = 300;

    const LinePatterns& patterns_;
    std::vector<int> taken_;
    int first_ = 0;
    int last_ = 0;
    Situation shown_;
};

/// Adds what the log shows to what the host's facts say. The facts win; a log adds devices and whatever was
/// not stated.
void add_shown(Situation& situation, const Situation& shown, const Knowledge& knowledge);

} // namespace rekindle::doctor
