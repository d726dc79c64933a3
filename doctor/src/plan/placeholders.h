#pragma once
/// What the {placeholders} of remedies stand for on one host.

#include "rules/host_view.h"

#include <rekindle/doctor/finding.h>

#include <map>
#include <string>
#include <string_view>

namespace rekindle::doctor {

using Values = std::map<std::string, std::string, std::less<>>;

/// Values for a step against `finding`: of the host, of wheels that exist for the finding's target, and the
/// finding's own parameters. A name that has no value here is absent.
Values placeholder_values(const HostView& view, const Finding& finding);

/// Absolute path of a new virtual environment for a remedy; "" when no home folder is known.
std::string new_environment(const HostView& view, std::string_view remedy);

struct Filled {
    std::string text;
    bool complete = true;   ///< nothing was left open
    bool applicable = true; ///< every wheel or image that it names exists
};
/// Replaces {name}; a value that is not known becomes <name>.
Filled fill_in(std::string_view text, const Values& values);

} // namespace rekindle::doctor
