#pragma once
/// One version for the whole project, from the file VERSION.

#include <string>

namespace rekindle {

/// "0.1.0".
std::string version_number();
/// "rekindle 0.1.0 (git 1a2b3c4, GNU 12.2.0, Slang 2026.14.1)"; what --version prints.
std::string version_details();

} // namespace rekindle
