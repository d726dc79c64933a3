#include <rekindle/cli/option_spec.h>

#include <algorithm>

namespace rekindle::cli {

bool OptionSpec::belongs_to(std::string_view command) const noexcept {
    return std::find(commands.begin(), commands.end(), command) != commands.end();
}

} // namespace rekindle::cli
