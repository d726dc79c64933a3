#include "probes/gpu_trouble.h"

#include <fmt/format.h>

#include <algorithm>
#include <re2/re2.h>

namespace rekindle::doctor {

namespace {

/// Messages of the kernel drivers amdgpu, i915, xe and nvidia. Faults of a single program (page faults, Xid
/// 13, 31 or 43) are not listed: the GPU keeps working.
constexpr const char* amd_pattern =
    R"((?i)(amdgpu|kfd).*(gpu reset|ring \S+ timeout|gpu hang|vram is lost|mes failed to respon|mes might be in unrecoverable|failed to quiesce kfd|cp queue preemption time out))";
constexpr const char* intel_pattern =
    R"((?i)(i915|\bxe\b).*(gpu hang|resetting chip|engine reset|gpu reset|\bwedged\b))";
constexpr const char* nvidia_pattern =
    R"((?i)(nvrm|nvidia).*(fallen off the bus|gpu is lost|timeout waiting for rpc from gsp|gpu reset|rminitadapter failed))";

const char* pattern_of(const std::string& vendor) {
    return vendor == "amd"      ? amd_pattern
           : vendor == "intel"  ? intel_pattern
           : vendor == "nvidia" ? nvidia_pattern
                                : "";
}

/// NVIDIA's driver omits the function: "PCI:0000:01:00".
bool speaks_of(const std::string& line, const std::string& address) {
    static const RE2 any_address(R"([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})");
    const std::string without_function = address.substr(0, address.rfind('.'));
    return line.find(without_function) != std::string::npos || !RE2::PartialMatch(line, any_address);
}

std::string reason_of(const Gpu& gpu, const std::string& line) {
    return fmt::format("the kernel log shows a hang or reset of {} ({}); --probe all tries it anyway",
                       gpu.address, line);
}

/// Variables that select GPUs, the one that takes UUIDs first.
std::vector<std::string> visibility_variables(const std::string& vendor) {
    if (vendor == "amd")
        return {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};
    if (vendor == "nvidia")
        return {"CUDA_VISIBLE_DEVICES"};
    return {};
}

bool any_is_set(const Facts& facts, const std::vector<std::string>& names) {
    const Fact<std::map<std::string, std::string>>& set = facts.environment.variables;
    return set.known() &&
           std::ranges::any_of(names, [&](const std::string& name) { return set->contains(name); });
}

} // namespace

std::string line_of_trouble(const KernelLog& log, const Gpu& gpu) {
    const std::string pattern = pattern_of(gpu.vendor);
    if (pattern.empty() || !log.lines.known())
        return {};
    const RE2 trouble(pattern);
    for (auto line = log.lines->rbegin(); line != log.lines->rend(); ++line)
        if (RE2::PartialMatch(*line, trouble) && speaks_of(*line, gpu.address))
            return *line;
    return {};
}

GpuAccess access_to(const Facts& facts, ProbeLevel level, const std::string& vendor) {
    GpuAccess access;
    if (level == ProbeLevel::all)
        return access;
    std::vector<std::string> healthy;
    bool all_have_names = true;
    for (const Gpu& gpu : facts.gpus) {
        if (!vendor.empty() && gpu.vendor != vendor)
            continue;
        if (const std::string line = line_of_trouble(facts.kernel_log, gpu); !line.empty()) {
            access.skipped_gpus.push_back({gpu.address, reason_of(gpu, line)});
        } else {
            healthy.push_back(gpu.uuid.value_or(""));
            all_have_names = all_have_names && gpu.uuid.known();
        }
    }
    const std::vector<std::string> variables = visibility_variables(vendor);
    if (access.skipped_gpus.empty())
        return access;
    if (healthy.empty() || !all_have_names || variables.empty() || any_is_set(facts, variables))
        access.refusal = access.skipped_gpus.front().reason;
    else
        access.environment[variables.front()] = fmt::format("{}", fmt::join(healthy, ","));
    return access;
}

} // namespace rekindle::doctor
