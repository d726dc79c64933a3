#include "collectors.h"
#include "library_search.h"
#include "python_reader.h"

#include <rekindle/base/version.h>
#include <rekindle/doctor/host.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

namespace rekindle::doctor {

Facts collect_facts(const HostOptions& options) {
    // The collectors finish in less than half of this time.
    constexpr std::chrono::milliseconds patience_with_pythons{4000};
    PythonReader pythons(options); // reads in the background
    HostFiles files(options.root.string());
    Facts facts;
    facts.program = version_number();
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    facts.read_at = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", now);
    facts.origin = files.live() ? "this host" : fmt::format("--root {}", options.root.string());

    const Fact<Variables> variables = read_variables(files, options.pid);
    facts.environment = steering_variables(variables);
    if (options.pid != 0)
        facts.environment.source = fmt::format("process {}", options.pid);
    read_system(files, facts.system);
    read_surroundings(files, variables.value_or({}), facts.system);
    read_user(files, facts.system);
    facts.gpus = read_pci_gpus(files);
    read_drm(files, facts.gpus);
    const KfdIds kfd_ids = read_kfd(files, facts);
    read_holders(files, kfd_ids, facts);
    read_device_nodes(files, facts.gpus, facts.system);
    read_drivers(files, facts.gpus, facts.drivers);
    read_kernel_log(files, facts.gpus, facts.kernel_log);

    const Variables known = variables.value_or({});
    read_rocm(files, known, facts.rocm);
    const auto library_path = known.find("LD_LIBRARY_PATH");
    LibrarySearch libraries(files, library_path == known.end() ? "" : library_path->second,
                            facts.system.architecture.value_or(""));
    read_nvidia(files, libraries, facts);
    read_vulkan(files, libraries, known, facts.vulkan);
    pythons.finish(facts, patience_with_pythons);
    return facts;
}

} // namespace rekindle::doctor
