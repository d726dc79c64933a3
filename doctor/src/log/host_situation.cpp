#include "log/host_situation.h"

#include "knowledge/gfx_names.h"
#include "knowledge/gpu_model.h"
#include "log/derived_keys.h"

#include <algorithm>

namespace rekindle::doctor {
namespace {

constexpr double gibibyte = 1024.0 * 1024 * 1024;
constexpr double mebibyte = 1024.0 * 1024;

/// Whether the collectors read everything, so that a missing value means an absent one.
bool complete(const Facts& facts) {
    return !facts.origin.empty() && facts.origin != "a posted case";
}

void add_fact(Situation& situation, std::string_view key, const Fact<std::string>& fact) {
    if (fact)
        situation.add(key, *fact, fact.source);
}

void add_fact(Situation& situation, std::string_view key, const Fact<bool>& fact) {
    if (fact)
        situation.add_flag(key, *fact, fact.source);
}

/// "8.6" → "sm_86".
std::string sm_of(std::string_view capability) {
    std::string name = "sm_";
    for (const char c : capability)
        if (c != '.')
            name += c;
    return name;
}

void state_target(Situation& situation, const Gpu& gpu, const GpuModel* model) {
    const std::string named = model != nullptr ? model->target : "";
    const std::string from_name = "the name " + gpu.name.value_or("");
    if (gpu.gfx)
        situation.add("gfx", *gpu.gfx, gpu.gfx.source);
    else if (named.starts_with("gfx"))
        situation.add("gfx", named, from_name);
    if (gpu.compute_capability) {
        situation.add("compute_capability", *gpu.compute_capability, gpu.compute_capability.source);
        situation.add("gfx", sm_of(*gpu.compute_capability), gpu.compute_capability.source);
    } else if (named.starts_with("sm_")) {
        situation.add("compute_capability", capability_of(named), from_name);
        situation.add("gfx", named, from_name);
    }
    if (gpu.runtime_gfx)
        situation.add("shown_gfx", *gpu.runtime_gfx, gpu.runtime_gfx.source);
}

void state_gpu(Situation& situation, const Gpu& gpu, const Knowledge& knowledge) {
    const GpuModel* model = model_of(gpu, knowledge);
    const std::string source = gpu.name ? gpu.name.source : gpu.address;
    add_fact(situation, "gpu", gpu.name);
    if (model != nullptr)
        situation.add("gpu", model->name, source);
    situation.add("vendor", !gpu.vendor.empty() || model == nullptr ? gpu.vendor : model->vendor, source);
    state_target(situation, gpu, model);
    if (gpu.integrated.is(true) || (!gpu.integrated && model != nullptr && model->integrated))
        situation.set("integrated", "true", source);
    if (gpu.vram_total && gpu.vram_used && *gpu.vram_total > 0 && !gpu.integrated.is(true)) {
        const double used = static_cast<double>(*gpu.vram_used) / static_cast<double>(*gpu.vram_total);
        if (used > situation.number("vram_used_share").value_or(-1))
            situation.set_number("vram_used_share", used, gpu.vram_used.source);
    }
    if (gpu.vram_total) {
        const double vram = static_cast<double>(*gpu.vram_total) / gibibyte;
        if (vram > situation.number("vram_gib").value_or(0))
            situation.set_number("vram_gib", vram, gpu.vram_total.source);
    } else if (model != nullptr && model->memory_gib > situation.number("vram_gib").value_or(0)) {
        situation.set_number("vram_gib", model->memory_gib, "the name " + gpu.name.value_or(""));
    }
}

void state_gpus(Situation& situation, const Facts& facts, const Knowledge& knowledge) {
    for (const Gpu& gpu : facts.gpus)
        state_gpu(situation, gpu, knowledge);
    if (!facts.gpus.empty() || complete(facts))
        situation.set_number("devices", static_cast<double>(facts.gpus.size()), facts.origin);
    // A person who names a GPU may not have mentioned an integrated one.
    if (complete(facts) && !situation.has("integrated", "true"))
        situation.add("integrated", "false", facts.origin);
}

void state_system(Situation& situation, const System& system) {
    add_fact(situation, "os", system.os_name);
    if (system.os_id)
        situation.add("os", *system.os_id + " " + system.os_version.value_or(""), system.os_id.source);
    add_fact(situation, "kernel", system.kernel);
    add_fact(situation, "glibc", system.glibc);
    add_fact(situation, "hypervisor", system.hypervisor);
    add_fact(situation, "rootless", system.rootless);
    if (system.wsl)
        situation.add_flag("wsl", *system.wsl > 0, system.wsl.source);
    if (system.container) {
        situation.add("container", *system.container, system.container.source);
        situation.add_flag("container", !system.container.is("none"), system.container.source);
    }
    if (system.shared_memory_total)
        situation.set_number("shm_mib", static_cast<double>(*system.shared_memory_total) / mebibyte,
                             system.shared_memory_total.source);
    if (system.open_files_limit)
        situation.set_number("open_files_limit", static_cast<double>(*system.open_files_limit),
                             system.open_files_limit.source);
    if (system.group_names)
        for (const std::string& group : *system.group_names)
            situation.add("group", group, system.group_names.source);
}

/// The environment that trains: the active one if it has torch, else the first one that has.
const PythonEnvironment* training_python(const Facts& facts) {
    const PythonEnvironment* chosen = nullptr;
    for (const PythonEnvironment& python : facts.pythons)
        if (chosen == nullptr || (python.torch && (!chosen->torch || (python.active && !chosen->active))))
            chosen = &python;
    return chosen;
}

void state_python(Situation& situation, const PythonEnvironment& python) {
    add_fact(situation, "python", python.version);
    add_fact(situation, "torch", python.torch);
    add_fact(situation, "torch_kind", python.torch_kind);
    add_fact(situation, "rocm_style", python.rocm_style);
    add_fact(situation, "rocm", python.torch_hip);
    add_fact(situation, "cuda", python.torch_cuda);
    if (!python.path.empty())
        situation.add_flag("space_in_path", python.path.find(' ') != std::string::npos, python.path);
    for (const PythonPackage& package : python.packages)
        situation.add("package." + package.name, package.version, package.source);
    for (const LibraryTargets& library : python.libraries)
        if (library.part == "torch")
            for (const std::string& target : library.targets)
                situation.add("wheel_targets", target, library.path);
}

void state_drivers(Situation& situation, const Drivers& drivers) {
    add_fact(situation, "driver", drivers.nvidia_module);
    add_fact(situation, "driver_module", drivers.nvidia_module);
    add_fact(situation, "driver_library", drivers.nvidia_library);
    add_fact(situation, "driver_cuda", drivers.nvidia_cuda);
    for (const KernelModule& module : drivers.modules)
        add_fact(situation, "driver", module.version);
}

/// Adds the number of processes that the kernel killed because memory ran out. Skips posted logs: they can be
/// excerpts, so a missing line proves nothing.
void state_oom_kills(Situation& situation, const Facts& facts) {
    const Fact<std::vector<std::string>>& lines = facts.kernel_log.lines;
    if (!complete(facts) || !lines)
        return;
    const auto is_kill = [](const std::string& line) {
        return line.find("ut of memory: Killed process") != std::string::npos;
    };
    const auto kills = std::count_if(lines->begin(), lines->end(), is_kill);
    situation.set_number("oom_kills", static_cast<double>(kills), lines.source);
}

void state_environment(Situation& situation, const Facts& facts) {
    const ProcessEnvironment& environment = facts.environment;
    if (!environment.variables)
        return;
    for (const auto& [name, value] : *environment.variables)
        situation.add("env." + name, value.empty() ? "(empty)" : value, environment.source);
    situation.whole_environment = complete(facts);
}

bool mentions(const Fact<std::string>& fact, std::string_view part) {
    return fact && fact->find(part) != std::string::npos;
}

} // namespace

std::string system_of(const System& system) {
    if (system.wsl.value_or(0) != 0 || mentions(system.kernel, "microsoft"))
        return "wsl";
    if (mentions(system.os_id, "windows") || mentions(system.os_name, "Windows"))
        return "windows";
    return system.os_id || system.kernel || system.wsl ? "linux" : "";
}

Situation stated_by(const Facts& facts, const Knowledge& knowledge) {
    Situation situation;
    state_gpus(situation, facts, knowledge);
    state_system(situation, facts.system);
    add_fact(situation, "kfd", facts.kfd);
    state_drivers(situation, facts.drivers);
    if (const PythonEnvironment* python = training_python(facts))
        state_python(situation, *python);
    for (const RocmInstallation& installation : facts.rocm.installations)
        add_fact(situation, "rocm_system", installation.version);
    state_oom_kills(situation, facts);
    state_environment(situation, facts);
    // If a person says what fails and names no torch, torch is not involved, unless the log shows one.
    const bool stated = situation.find("torch") != nullptr || situation.find("torch_kind") != nullptr;
    if (stated)
        situation.add("torch_involved", "true", facts.origin);
    else if (!facts.origin.empty())
        situation.add("torch_unstated", "true", facts.origin);
    for (const std::string& note : facts.notes)
        situation.add("other", note, facts.origin);
    return situation;
}

Situation situation_of(const Facts& facts, const Knowledge& knowledge) {
    Situation situation = stated_by(facts, knowledge);
    derive(situation, knowledge);
    return situation;
}

} // namespace rekindle::doctor
