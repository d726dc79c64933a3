#pragma once
/// What is known of a host in the words that conditions use (knowledge/README.md, "Conditions").

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Keys and their values. A key that is not here is not known.
class Situation {
  public:
    struct Known {
        std::vector<std::string>
            values;         ///< at least one; several when there are several devices or names for the same
        std::string source; ///< where they were read: "/proc/sys/kernel/osrelease", "log line 12"
    };

    /// Adds a value of `key`; one that is there already is not added twice. Empty values are ignored.
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

    /// All variables of the environment are known: one that is not among the keys is absent.
    bool whole_environment = false;
    /// The patterns of `log:` conditions that some line of the log matches. Without a log it is empty.
    std::set<std::string, std::less<>> log_patterns;

  private:
    std::map<std::string, Known, std::less<>> known_;
};

/// What the facts say, with the keys that follow from it.
Situation situation_of(const Facts& facts, const Knowledge& knowledge);

/// The two halves of situation_of, for those who add what a log shows in between. A name that the table of
/// GPUs knows stands for its gfx target where no target was read.
Situation stated_by(const Facts& facts, const Knowledge& knowledge);
/// Adds architecture names to `gfx`, wheel_contains_gfx, override_native and the other keys that are
/// computed. To be called once.
void derive(Situation& situation, const Knowledge& knowledge);

/// "8.6" for "sm_86", "12.0" for "sm_120"; "" when it has no digits.
std::string capability_of(std::string_view sm);

/// "10.3.0" for "gfx1030", "9.0.10" for "gfx90a": the form that HSA_OVERRIDE_GFX_VERSION takes. "" when it is
/// no gfx name.
std::string override_of_gfx(std::string_view gfx);
/// "gfx1030" for "10.3.0", "" when it is no such number.
std::string gfx_of_override(std::string_view value);

} // namespace rekindle::doctor
