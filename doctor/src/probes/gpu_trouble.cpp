#include "probes/gpu_trouble.h"

#include <fmt/format.h>

#include <re2/re2.h>

namespace rekindle::doctor {

namespace {

/// Of the kernel drivers amdgpu, i915, xe and nvidia. Faults of a program alone (page faults, Xid 13, 31 or
/// 43) are not here: the GPU goes on.
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

/// NVIDIA's driver leaves out the function: "PCI:0000:01:00".
bool speaks_of(const std::string& line, const std::string& address) {
    static const RE2 any_address(R"([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})");
    const std::string without_function = address.substr(0, address.rfind('.'));
    return line.find(without_function) != std::string::npos || !RE2::PartialMatch(line, any_address);
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

std::string troubled_gpu(const Facts& facts, const std::string& vendor) {
    for (const Gpu& gpu : facts.gpus)
        if (vendor.empty() || gpu.vendor == vendor)
            if (const std::string line = line_of_trouble(facts.kernel_log, gpu); !line.empty())
                return fmt::format("the kernel log tells of a hang or reset of {} ({})", gpu.address, line);
    return {};
}

} // namespace rekindle::doctor
