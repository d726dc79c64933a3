#pragma once
/// Commands of remedies are written for a Unix shell; on Windows they are typed into PowerShell.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The same command for PowerShell; nothing if it has none. Supported are variable settings ("export A=B",
/// "unset A", "printenv A", "A=B program …"), programs of a virtual environment, and programs that both
/// systems have (Python, pip, conda, docker, rekindle).
std::optional<std::string> in_powershell(std::string_view command);

/// Whether it is a command, and not a sentence such as "take the line out again".
bool is_command(std::string_view line);

} // namespace rekindle::doctor
