#include "rules/rule.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

namespace rekindle::doctor {

namespace {

bool ended_badly(const ProbeResult& probe) {
    return probe.status == ProbeStatus::failed || probe.status == ProbeStatus::crashed ||
           probe.status == ProbeStatus::timed_out;
}

std::string outcome(const ProbeResult& probe) {
    switch (probe.status) {
    case ProbeStatus::timed_out:
        return fmt::format("no answer after {}", format_duration(probe.seconds));
    case ProbeStatus::crashed:
        return fmt::format("ended by signal {}", probe.signal);
    default:
        return probe.code.empty() ? probe.reason : fmt::format("{} {}", probe.code, probe.reason);
    }
}

void add_probe(Finding& finding, const ProbeResult& probe) {
    add_evidence(finding, fmt::format("probe {}", probe.id),
                 probe.device.empty() ? "this host" : probe.device,
                 fmt::format("{}; exit status {}", outcome(probe), probe.exit_status));
    if (!probe.errors.empty())
        add_evidence(finding, fmt::format("last words of {}", probe.id), "standard error", probe.errors);
    if (!probe.device.empty())
        finding.devices.push_back(probe.device);
}

bool is_blas(const ProbeResult& probe) {
    return probe.id == "blas-handle" || probe.id == "python-matmul";
}

/// A BLAS handle that finds no memory although the kernel says that there is some.
bool unexplained_allocation_failure(const HostView& view, const ProbeResult& probe) {
    constexpr std::uint64_t plenty = 1ull << 30;
    const std::string text = probe.code + probe.reason + probe.errors;
    if (!is_blas(probe) ||
        (text.find("ALLOC_FAILED") == std::string::npos && text.find("memory_error") == std::string::npos &&
         text.find("OutOfMemory") == std::string::npos))
        return false;
    for (const Gpu* gpu : view.amd)
        if (!gpu->vram_total || !gpu->vram_used || *gpu->vram_total - *gpu->vram_used < plenty)
            return false;
    return !view.amd.empty();
}

} // namespace

Findings failed_probes(const HostView& view) {
    Findings findings;
    for (const ProbeResult& probe : view.probes) {
        if (!ended_badly(probe))
            continue;
        const bool conv_hangs = probe.id.starts_with("python-conv") && probe.status == ProbeStatus::timed_out;
        const bool no_memory = unexplained_allocation_failure(view, probe);
        Finding finding = make_finding(
            conv_hangs  ? "conv-solver-hang"
            : no_memory ? "blas-handle-cause-unknown"
                        : "probe-failed",
            Severity::problem,
            conv_hangs  ? "A convolution does not come back: MIOpen chose a solver that hangs on this card."
            : no_memory ? "Creating a BLAS handle reports no memory although more than 1 GiB is free."
                        : fmt::format("Trying {} failed: {}.", probe.id, outcome(probe)));
        add_probe(finding, probe);
        findings.push_back(std::move(finding));
    }
    return findings;
}

} // namespace rekindle::doctor
