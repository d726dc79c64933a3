#pragma once
/// Values of the {placeholders} in remedies for one host.

#include "plan/platform.h"

#include <rekindle/doctor/finding.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

using Values = std::map<std::string, std::string, std::less<>>;

/// Values for a step against `finding`: of the host, of wheels that exist for the finding's target, and the
/// finding's own parameters. A name without a known value is missing: little is known about the host below
/// a container (`elsewhere`).
Values placeholder_values(const HostView& view, const Finding& finding, const Platform& platform,
                          bool elsewhere);

/// Absolute path of a new virtual environment for a remedy; "" when no home folder is known.
std::string new_environment(const HostView& view, std::string_view remedy);

/// Text with its {names} replaced, and the names that have no value.
struct Filled {
    std::string text;
    std::vector<std::string> missing;
};
Filled fill_in(std::string_view text, const Values& values);

} // namespace rekindle::doctor
