#pragma once
/// What is known about a host, in the vocabulary of conditions (knowledge/README.md, "Conditions").

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Keys and their values. A missing key is unknown.
class Situation {
  public:
    struct Known {
        std::vector<std::string> values; ///< at least one; several when there are several devices or several
                                         ///< names for the same thing
        std::string source; ///< where they were read: "/proc/sys/kernel/osrelease", "log line 12"
    };

    /// Adds a value of `key`, unless it is already there. Empty values are ignored.
    void add(std::string_view key, std::string_view value, std::string_view source);
    /// Makes `value` the only one.
    void set(std::string_view key, std::string_view value, std::string_view source);
    void add_flag(std::string_view key, bool value, std::string_view source);
    void set_number(std::string_view key, double value, std::string_view source);
    const Known* find(std::string_view key) const;
    bool has(std::string_view key, std::string_view value) const;
    /// The first value or "".
    std::string_view first(std::string_view key) const;
    std::optional<double> number(std::string_view key) const;
    /// The source of the key, or "".
    std::string_view source(std::string_view key) const;
    const std::map<std::string, Known, std::less<>>& known() const noexcept { return known_; }

    /// All environment variables are known: a variable that is not among the keys is absent.
    bool whole_environment = false;
    /// The patterns of `log:` conditions that some line of the log matches. Empty without a log.
    std::set<std::string, std::less<>> log_patterns;

  private:
    std::map<std::string, Known, std::less<>> known_;
};

/// What the facts say, with the keys that follow from it.
Situation situation_of(const Facts& facts, const Knowledge& knowledge);

/// The two halves of situation_of, for callers that add what a log shows in between. A name in the table of
/// GPUs stands for its gfx target where no target was read.
Situation stated_by(const Facts& facts, const Knowledge& knowledge);
/// Adds architecture names to `gfx`, wheel_contains_gfx, override_native and the other computed keys. Call
/// it once.
void derive(Situation& situation, const Knowledge& knowledge);

/// "8.6" for "sm_86", "12.0" for "sm_120"; "" when it has no digits.
std::string capability_of(std::string_view sm);

/// "10.3.0" for "gfx1030", "9.0.10" for "gfx90a": the form that HSA_OVERRIDE_GFX_VERSION takes. "" when it
/// is not a gfx name.
std::string override_of_gfx(std::string_view gfx);
/// "gfx1030" for "10.3.0", "" when it is not such a version.
std::string gfx_of_override(std::string_view value);

} // namespace rekindle::doctor
