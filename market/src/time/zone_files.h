#pragma once
/// Where zone files come from: the system, or else the program.

#include <string>
#include <vector>

namespace rekindle::market {

/// A relative name such as "America/New_York" or "UTC": no path that leaves the zone folder, and no prefix.
bool is_plain_zone_name(const std::string& name) noexcept;

/// Names of the zones that are embedded in the program, sorted.
std::vector<std::string> embedded_zones();

/// Known zones (the system's table and the embedded ones) that a mistyped name may stand for, at most three.
std::vector<std::string> near_zone_names(const std::string& name);

std::string joined_zone_names(const std::vector<std::string>& names);

} // namespace rekindle::market
