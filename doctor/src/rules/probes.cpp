#include "rules/rule.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/diagnosis.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

bool ended_badly(const ProbeResult& probe) {
    return probe.status == ProbeStatus::failed || probe.status == ProbeStatus::crashed ||
           probe.status == ProbeStatus::timed_out;
}

std::string outcome(const ProbeResult& probe) {
    switch (probe.status) {
    case ProbeStatus::timed_out:
        return fmt::format("no response after {}", format_duration(probe.seconds));
    case ProbeStatus::crashed:
        return fmt::format("terminated by signal {}", probe.signal);
    default:
        return probe.code.empty() ? probe.reason : fmt::format("{} {}", probe.code, probe.reason);
    }
}

/// How much a failure matters for training here: a note if nothing here depends on what was probed.
Severity severity_of(const HostView& view, const ProbeResult& probe) {
    if (probe.id.starts_with("vulkan"))
        return relies_on_vulkan(view) ? Severity::problem : Severity::note;
    const bool of_rocm =
        probe.id.starts_with("hip") || probe.id.starts_with("blas") || probe.id.starts_with("rccl");
    if (of_rocm && !amd_matters(view))
        return Severity::note;
    return probe.id == "python-compile" ? Severity::warning : Severity::problem;
}

/// A BLAS handle that reports no memory although the kernel says that some is free.
bool unexplained_allocation_failure(const HostView& view, const ProbeResult& probe) {
    constexpr std::uint64_t plenty = 1ull << 30;
    const std::string text = probe.code + probe.reason + probe.errors;
    const bool is_blas = probe.id == "blas-handle" || probe.id.starts_with("python-matmul");
    if (!is_blas ||
        (text.find("ALLOC_FAILED") == std::string::npos && text.find("memory_error") == std::string::npos &&
         text.find("OutOfMemory") == std::string::npos))
        return false;
    return !view.amd.empty() && std::all_of(view.amd.begin(), view.amd.end(), [](const Gpu* gpu) {
        return gpu->vram_total && gpu->vram_used && *gpu->vram_total - *gpu->vram_used >= plenty;
    });
}

Finding explain(const HostView& view, const ProbeResult& probe) {
    const Severity severity = severity_of(view, probe);
    if (probe.id.starts_with("python-conv") && probe.status == ProbeStatus::timed_out)
        return make_finding("conv-solver-hang", severity,
                            "A convolution does not return: MIOpen chose a solver that hangs on this GPU.");
    if (probe.id == "vulkan-self-test" && probe.status == ProbeStatus::failed &&
        probe.values.contains("wrong"))
        return make_finding("vk-wrong-answers", severity,
                            fmt::format("The Vulkan driver of {} computes wrong answers: {}.", probe.device,
                                        probe.values.at("wrong")));
    if (unexplained_allocation_failure(view, probe))
        return make_finding(
            "blas-handle-cause-unknown", severity,
            "Creating a BLAS handle fails with an out-of-memory error although more than 1 GiB is free.");
    const LogDiagnosis read =
        diagnose_log(log_from_text(probe.errors + "\n" + probe.reason, probe.id), view.facts, view.knowledge);
    if (!read.findings.empty() && severity == Severity::problem) {
        Finding finding = read.findings.front();
        finding.primary = false;
        return finding;
    }
    return make_finding("probe-failed", severity,
                        fmt::format("The probe {} failed: {}.", probe.id, outcome(probe)));
}

void add_probe(Finding& finding, const ProbeResult& probe) {
    add_evidence(finding, fmt::format("probe {}", probe.id),
                 probe.device.empty() ? "this host" : probe.device,
                 fmt::format("{}; exit status {}", outcome(probe), probe.exit_status));
    if (!probe.errors.empty())
        add_evidence(finding, fmt::format("last output of {}", probe.id), "standard error", probe.errors);
    if (!probe.device.empty())
        finding.devices.push_back(probe.device);
}

} // namespace

Findings failed_probes(const HostView& view) {
    Findings findings;
    for (const ProbeResult& probe : view.probes) {
        const bool hidden = probe.id.starts_with("cuda") && visible_nvidia(view).empty();
        if (!ended_badly(probe) || hidden) // it is not a failure if a hidden device is not found
            continue;
        Finding finding = explain(view, probe);
        const auto same = std::find_if(findings.begin(), findings.end(), [&](const Finding& other) {
            return other.cause == finding.cause && other.severity == finding.severity;
        });
        add_probe(same == findings.end() ? finding : *same, probe);
        if (same == findings.end())
            findings.push_back(std::move(finding));
    }
    return findings;
}

} // namespace rekindle::doctor
