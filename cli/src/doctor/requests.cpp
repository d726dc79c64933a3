#include "requests.h"

#include <nlohmann/json.hpp>

namespace rekindle::cli {

doctor::HostOptions host_options(const CommandLine& line) {
    doctor::HostOptions options;
    options.root = line.text("root", "/");
    options.pythons = line.list("python");
    options.pid = line.integer("pid", 0);
    return options;
}

doctor::ProbeOptions probe_options(const CommandLine& line) {
    using doctor::ProbeLevel;
    doctor::ProbeOptions options;
    const std::string level = line.text("probe", "safe");
    options.level = level == "none" ? ProbeLevel::none : level == "all" ? ProbeLevel::all : ProbeLevel::safe;
    const std::vector<std::string> pythons = line.list("python");
    options.python = pythons.empty() ? "" : pythons.front();
    return options;
}

} // namespace rekindle::cli
