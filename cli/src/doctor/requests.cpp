#include "requests.h"

#include <rekindle/doctor/host.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace rekindle::cli {

namespace {

constexpr std::string_view found_by_option = "--python";

bool named(const doctor::PythonEnvironment& python) {
    return python.found_by == found_by_option && python.version.known();
}

void check_pythons(const std::vector<std::string>& requested, const doctor::Facts& facts) {
    if (std::count_if(facts.pythons.begin(), facts.pythons.end(), named) > 0 || requested.empty())
        return;
    throw usage_error(fmt::format("no Python environment at {}", requested.front()))
        .at(std::string(found_by_option))
        .expected("an interpreter such as ~/venv/bin/python3, or the folder of an environment");
}

} // namespace

doctor::Facts read_host(const CommandLine& line, const std::string& python) {
    doctor::HostOptions options;
    options.root = line.text("root", "/");
    const std::vector<std::string> requested = line.list("python");
    options.pythons = requested;
    if (requested.empty() && !python.empty())
        options.pythons.push_back(python);
    options.pid = line.integer("pid", 0);
    if (!std::filesystem::is_directory(options.root))
        throw usage_error("no such folder")
            .at("--root " + options.root.string())
            .expected("the root of a recorded or mounted host");
    doctor::Facts facts = doctor::collect_facts(options);
    if (options.pid != 0 && !facts.environment.variables.known())
        throw usage_error(fmt::format("cannot read the environment variables of process {}: {}", options.pid,
                                      facts.environment.variables.unread))
            .at("--pid")
            .expected("a running process of the same user");
    check_pythons(requested, facts);
    return facts;
}

doctor::ProbeOptions probe_options(const CommandLine& line, const doctor::Facts& facts) {
    using doctor::ProbeLevel;
    doctor::ProbeOptions options;
    const std::string level = line.text("probe", "safe");
    options.level = level == "none" ? ProbeLevel::none : level == "all" ? ProbeLevel::all : ProbeLevel::safe;
    const auto python = std::find_if(facts.pythons.begin(), facts.pythons.end(), named);
    if (python != facts.pythons.end())
        options.python = python->interpreter;
    return options;
}

} // namespace rekindle::cli
