#pragma once
/// Values of the {placeholders} in remedies for one host.

#include "plan/platform.h"

#include <rekindle/doctor/finding.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rekindle::doctor {

using Values = std::map<std::string, std::string, std::less<>>;

/// Values for the place where the training runs, and for the host outside its container, about which little
/// is known. A name is missing if its value is unknown.
struct ValuesOfFinding {
    Values here;
    Values elsewhere;
};

/// Finds the values to fill into the steps of one plan. They come from the host, from the wheels that exist
/// for a finding's target, and from the finding's parameters. Not thread-safe. The view must outlive it.
class Placeholders {
  public:
    explicit Placeholders(const HostView& view);
    ValuesOfFinding of(const Finding& finding, const Platform& platform);

  private:
    const Values& wheels_for(const std::string& gfx, const std::string& sm);

    const HostView& view_;
    Values here_, elsewhere_;                                      ///< the same for every finding
    std::map<std::pair<std::string, std::string>, Values> wheels_; ///< by AMD's and NVIDIA's target
};

/// Absolute path of a new virtual environment for a remedy; "" when no home folder is known.
std::string new_environment(const HostView& view, std::string_view remedy);

/// Text with its {names} replaced, and the names that have no value.
struct Filled {
    std::string text;
    std::vector<std::string> missing;
};
Filled fill_in(std::string_view text, const Values& values);

} // namespace rekindle::doctor
