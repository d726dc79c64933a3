#include "facts/versions.h"
#include "rules/rule.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace rekindle::doctor {

namespace {

/// Above this share of VRAM in use, nothing worth training fits.
constexpr double full = 0.90;
/// Above this share, a process that holds most of it is reported.
constexpr double crowded = 0.50;

std::string part_of_memory(std::uint64_t part, std::uint64_t whole) {
    return fmt::format("{} of {} bytes", with_thousands(static_cast<std::int64_t>(part)),
                       with_thousands(static_cast<std::int64_t>(whole)));
}

std::vector<MemoryHolder> largest_first(const Gpu& gpu) {
    std::vector<MemoryHolder> holders = gpu.holders;
    std::stable_sort(holders.begin(), holders.end(),
                     [](const MemoryHolder& a, const MemoryHolder& b) { return a.vram > b.vram; });
    return holders;
}

void add_used_memory(Finding& finding, const HostView& view, const Gpu& gpu) {
    add_evidence(finding, fmt::format("VRAM in use on the {}", name_of(view, gpu)), gpu.vram_used,
                 part_of_memory(*gpu.vram_used, *gpu.vram_total));
    finding.devices = {gpu.address};
}

Finding held(const HostView& view, const Gpu& gpu, const std::vector<MemoryHolder>& holders, double share) {
    const MemoryHolder& largest = holders.front();
    const std::string command = largest.command.empty() ? "a process" : largest.command;
    Finding finding = make_finding(
        "vram-held-by-other-process", share >= full ? Severity::problem : Severity::warning,
        fmt::format("{} (pid {}) holds {} of the {}'s memory; {} are in use before training begins.", command,
                    largest.pid, counted(largest.vram, "byte"), name_of(view, gpu),
                    part_of_memory(*gpu.vram_used, *gpu.vram_total)));
    add_used_memory(finding, view, gpu);
    for (const MemoryHolder& holder : holders)
        add_evidence(finding, fmt::format("held by pid {} ({})", holder.pid, holder.command), holder.source,
                     counted(holder.vram, "byte"));
    finding.parameters = {
        {"pid", std::to_string(largest.pid)},
        {"command", command},
        {"bytes", with_thousands(static_cast<std::int64_t>(largest.vram))},
        {"card", gpu.card_node.value_or("/dev/dri/card0").substr(std::string("/dev/dri/").size())}};
    finding.distinguishing_checks = {
        "whether the memory is free again after this process has ended; if it is not, the driver kept it"};
    return finding;
}

/// Memory is in use, but no process that this one can see holds it.
Finding unexplained(const HostView& view, const Gpu& gpu, std::uint64_t explained) {
    const bool outside = in_container(view);
    Finding finding = make_finding(
        outside ? "vram-held-by-other-process" : "vram-stranded-in-driver", Severity::problem,
        outside ? fmt::format("{} of the {}'s memory are in use, by processes outside this container.",
                              part_of_memory(*gpu.vram_used, *gpu.vram_total), name_of(view, gpu))
                : fmt::format("{} of the {}'s memory are in use and no process holds more than {} of it: the "
                              "driver did not reclaim it from a process that died.",
                              part_of_memory(*gpu.vram_used, *gpu.vram_total), name_of(view, gpu),
                              counted(explained, "byte")));
    add_used_memory(finding, view, gpu);
    add_evidence(finding, "held by visible processes", "/proc/*/fdinfo, /sys/class/kfd/kfd/proc",
                 counted(explained, "byte"));
    finding.parameters["card"] =
        gpu.card_node.value_or("/dev/dri/card0").substr(std::string("/dev/dri/").size());
    if (outside)
        finding.remedies = {"look-for-holders-on-host"};
    else if (view.facts.system.user_id && *view.facts.system.user_id != 0)
        finding.distinguishing_checks = {
            "run `sudo rekindle doctor`: files of other users' processes are hidden from this one"};
    return finding;
}

} // namespace

Findings vram_in_use(const HostView& view) {
    // An integrated GPU's carve-out is often full, which is not a problem.
    constexpr std::uint64_t little_vram = 3ull << 30;
    Findings findings;
    for (const Gpu& gpu : view.facts.gpus) {
        if (!gpu.vram_total || !gpu.vram_used || *gpu.vram_total < little_vram ||
            !worth_training_on(view, gpu))
            continue;
        const double share = static_cast<double>(*gpu.vram_used) / static_cast<double>(*gpu.vram_total);
        const std::vector<MemoryHolder> holders = largest_first(gpu);
        const std::uint64_t explained =
            std::accumulate(holders.begin(), holders.end(), std::uint64_t{0},
                            [](std::uint64_t sum, const MemoryHolder& holder) { return sum + holder.vram; });
        const bool explains_it = !holders.empty() && explained * 2 >= *gpu.vram_used;
        if (explains_it && share >= crowded)
            findings.push_back(held(view, gpu, holders, share));
        else if (share >= full)
            findings.push_back(unexplained(view, gpu, explained));
    }
    return findings;
}

Findings few_descriptors(const HostView& view) {
    constexpr std::uint64_t usual_limit = 1024;
    const System& system = view.facts.system;
    const std::string rocm = torch_rocm(view);
    if (!system.open_files_limit || *system.open_files_limit > usual_limit || training_amd(view).empty() ||
        rocm.empty() || compare_versions(rocm, "7.14") < 0 || !same_release(rocm, "7.14"))
        return {};
    Finding finding = make_finding("fd-limit-reported-as-oom", Severity::warning,
                                   fmt::format("ROCm {} keeps a file descriptor for each block of device "
                                               "memory, and this process may open only {}: it "
                                               "will report \"out of memory\" while memory is still free.",
                                               rocm, *system.open_files_limit));
    add_evidence(finding, "open files, soft limit", system.open_files_limit,
                 std::to_string(*system.open_files_limit));
    if (system.open_files_hard_limit)
        add_evidence(finding, "hard limit", system.open_files_hard_limit,
                     std::to_string(*system.open_files_hard_limit));
    add_evidence(finding, "torch", view.python->torch, view.python->torch.value_or(""));
    finding.parameters["limit"] =
        std::to_string(std::min<std::uint64_t>(system.open_files_hard_limit.value_or(65536), 65536));
    return {finding};
}

} // namespace rekindle::doctor
