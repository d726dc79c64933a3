#pragma once
/// What is known about a host, in the vocabulary of conditions (knowledge/README.md, "Conditions").

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

} // namespace rekindle::doctor
