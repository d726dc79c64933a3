#include "python/pythons.h"

#include "python/link_problems.h"
#include "python/packages.h"
#include "python/torch_files.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <unistd.h>

namespace rekindle::doctor {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr const char* no_time = "not read: the time limit was reached";

PythonEnvironment describe_place(const PythonPlace& place) {
    PythonEnvironment environment;
    environment.path = place.prefix.string();
    environment.interpreter = place.interpreter.string();
    environment.kind = place.kind;
    environment.found_by = place.found_by;
    environment.active = place.active;
    if (!place.version.empty())
        environment.version = {place.version, place.version_source};
    else
        environment.version = Fact<std::string>::failed(
            place.error.empty() ? "no lib/pythonX.Y and no version in pyvenv.cfg" : place.error,
            place.prefix.string());
    return environment;
}

PythonEnvironment read_environment(const HostTree& tree, const PythonSearch& search, const PythonPlace& place,
                                   Clock::time_point deadline) {
    PythonEnvironment environment = describe_place(place);
    if (!place.error.empty())
        return environment;
    const std::string source = place.prefix.string();
    if (Clock::now() >= deadline) {
        environment.problems = Fact<std::vector<std::string>>::failed(no_time, source);
        return environment;
    }
    InstalledPackages installed = read_packages(tree, place.site_folders);
    const fs::path torch = read_torch(tree, place, installed, environment);
    std::vector<std::string> problems = std::move(installed.problems);
    if (environment.torch.known() && torch.empty())
        problems.push_back(fmt::format("{} says that torch {} is installed, but the folder torch is missing",
                                       environment.torch.source, *environment.torch));
    const auto add = [&](std::vector<std::string> more) {
        problems.insert(problems.end(), more.begin(), more.end());
    };
    add(broken_links(tree, place, torch));
    if (!torch.empty() && Clock::now() < deadline)
        add(missing_libraries(tree, place, torch, search.variable("LD_LIBRARY_PATH")));
    environment.packages = std::move(installed.packages);
    environment.private_backends = std::move(installed.private_backends);
    environment.libraries = read_targets(tree, place, environment, torch, deadline);
    environment.problems = {std::move(problems), source};
    return environment;
}

void take_variable(PythonSearch& search, const char* name) {
    if (const char* value = std::getenv(name))
        search.variables[name] = value;
}

void take_own_process(PythonSearch& search) {
    for (const char* name : {"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "PYENV_VERSION",
                             "PYTHONPATH", "PYTHONNOUSERSITE", "LD_LIBRARY_PATH", "HOME"})
        take_variable(search, name);
    std::error_code ignored;
    search.working_folder = fs::current_path(ignored);
}

std::string read_process_file(std::int64_t pid, const char* name) {
    try {
        return read_file(fs::path("/proc") / std::to_string(pid) / name);
    } catch (const Error&) {
        return {}; // gone, or another user's: the facts of its environment say so
    }
}

void take_process(PythonSearch& search, std::int64_t pid) {
    search.variables_of = fmt::format("process {}", pid);
    const std::string environment = read_process_file(pid, "environ");
    for (const std::string_view entry : split(environment, '\0'))
        if (const std::size_t at = entry.find('='); at != std::string_view::npos)
            search.variables.emplace(entry.substr(0, at), entry.substr(at + 1));
    const fs::path folder = fs::path("/proc") / std::to_string(pid);
    std::error_code error;
    const fs::path working = fs::read_symlink(folder / "cwd", error);
    if (!error)
        search.working_folder = working;
    const std::string command = read_process_file(pid, "cmdline");
    const fs::path started = command.substr(0, command.find('\0'));
    const fs::path program = fs::read_symlink(folder / "exe", error);
    if (error || !program.filename().string().starts_with("python"))
        return;
    // The name by which it was started leads to the virtual environment; the program itself does not.
    search.running_interpreter = started.is_absolute() && fs::exists(started, error) ? started : program;
}

std::vector<fs::path> homes_of_recorded_host(const HostTree& tree) {
    std::vector<fs::path> homes;
    for (const std::string& name : tree.list("/home"))
        if (homes.size() < 20 && tree.is_folder(fs::path("/home") / name))
            homes.push_back(fs::path("/home") / name);
    if (tree.is_folder("/root"))
        homes.emplace_back("/root");
    return homes;
}

} // namespace

std::vector<PythonEnvironment> collect_pythons(const HostTree& tree, const PythonSearch& search,
                                               std::chrono::milliseconds budget) {
    const Clock::time_point deadline = Clock::now() + budget;
    std::vector<PythonEnvironment> environments;
    for (const PythonPlace& place : find_places(tree, search))
        environments.push_back(read_environment(tree, search, place, deadline));
    return environments;
}

std::vector<PythonEnvironment> collect_pythons(const HostOptions& options, std::chrono::milliseconds budget) {
    const HostTree tree(options.root);
    PythonSearch search;
    search.named = options.pythons;
    search.others = options.find_pythons;
    if (!tree.live()) {
        search.variables["PATH"] = default_path;
        search.working_folder = "/";
        search.homes = homes_of_recorded_host(tree);
    } else {
        if (options.pid > 0)
            take_process(search, options.pid);
        else
            take_own_process(search);
        if (const fs::path home(search.variable("HOME")); home.is_absolute())
            search.homes.push_back(home);
    }
    return collect_pythons(tree, search, budget);
}

} // namespace rekindle::doctor
