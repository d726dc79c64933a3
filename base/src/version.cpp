#include <rekindle/base/version.h>
#include <rekindle/base/version_generated.h>

#include <fmt/format.h>

namespace rekindle {

std::string version_number() {
    return REKINDLE_VERSION_NUMBER;
}

std::string version_details() {
    return fmt::format("rekindle {} (git {}, {}, {})", REKINDLE_VERSION_NUMBER, REKINDLE_GIT_REVISION,
                       REKINDLE_COMPILER, REKINDLE_SLANG_COMPILER);
}

} // namespace rekindle
