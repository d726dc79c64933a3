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
        return fmt::format("no answer after {}", format_duration(probe.seconds));
    case ProbeStatus::crashed:
        return fmt::format("ended by signal {}", probe.signal);
    default:
        return probe.code.empty() ? probe.reason : fmt::format("{} {}", probe.code, probe.reason);
    }
}

/// What a failure says about training here: nothing where nobody relies on what was tried.
Severity severity_of(const HostView& view, const ProbeResult& probe) {
    if (probe.id.starts_with("vulkan"))
        return relies_on_vulkan(view) ? Severity::problem : Severity::note;
    const bool of_rocm =
        probe.id.starts_with("hip") || probe.id.starts_with("blas") || probe.id.starts_with("rccl");
    if (of_rocm && !amd_matters(view))
        return Severity::note;
    return probe.id == "python-compile" ? Severity::warning : Severity::problem;
}

/// A BLAS handle that finds no memory although the kernel says that there is some.
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
        return make_finding(
            "conv-solver-hang", severity,
            "A convolution does not come back: MIOpen chose a solver that hangs on this card.");
    if (probe.id == "vulkan-self-test" && probe.status == ProbeStatus::failed &&
        probe.values.contains("wrong"))
        return make_finding("vk-wrong-answers", severity,
                            fmt::format("The Vulkan driver of {} computes wrong answers: {}.", probe.device,
                                        probe.values.at("wrong")));
    if (unexplained_allocation_failure(view, probe))
        return make_finding("blas-handle-cause-unknown", severity,
                            "Creating a BLAS handle reports no memory although more than 1 GiB is free.");
    const LogDiagnosis read =
        diagnose_log(log_from_text(probe.errors + "\n" + probe.reason, probe.id), view.facts, view.knowledge);
    if (!read.findings.empty() && severity == Severity::problem) {
        Finding finding = read.findings.front();
        finding.primary = false;
        return finding;
    }
    return make_finding("probe-failed", severity,
                        fmt::format("Trying {} failed: {}.", probe.id, outcome(probe)));
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

} // namespace

Findings failed_probes(const HostView& view) {
    Findings findings;
    for (const ProbeResult& probe : view.probes) {
        const bool hidden = probe.id.starts_with("cuda") && visible_nvidia(view).empty();
        if (!ended_badly(probe) || hidden) // that a hidden device is not found is no failure of its own
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
