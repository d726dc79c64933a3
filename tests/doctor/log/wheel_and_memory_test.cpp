/// A cause that the facts rule out is never named, and full memory is named.

#include "case_files.h"
#include "log/log_diagnoser.h"

#include <rekindle/doctor/facts_json.h>
#include <rekindle/doctor/report.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace rekindle::doctor {
namespace {

const std::set<std::string> about_code{"wheel-lacks-gfx", "wheel-lacks-sm", "wheel-dropped-old-sm"};

Facts host_with_wheel(const std::string& target, const std::string& torch) {
    Facts facts;
    facts.origin = "a posted case";
    Gpu gpu;
    gpu.address = "case:0";
    if (target.starts_with("gfx")) {
        gpu.vendor = "amd";
        gpu.gfx = {target, "posted"};
    } else {
        gpu.vendor = "nvidia";
        gpu.compute_capability = {target.substr(3, target.size() - 4) + "." + target.back(), "posted"};
    }
    facts.gpus.push_back(gpu);
    facts.pythons.emplace_back().torch = {torch, "posted"};
    return facts;
}

/// Logs whose confirmed cause is missing code for the GPU.
std::vector<CaseFile> logs_about_code() {
    std::vector<CaseFile> logs = read_case_files(embedded_knowledge());
    std::erase_if(logs, [](const CaseFile& one) { return !about_code.contains(one.cause); });
    return logs;
}

/// Every official index, its newest torch, and every target in it.
TEST(WheelWithTheTarget, IsNeverReportedAsLackingIt) {
    LogDiagnoser diagnoser(embedded_knowledge());
    const std::vector<CaseFile> logs = logs_about_code();
    ASSERT_GE(logs.size(), 8U);
    std::size_t pairs = 0;
    for (const WheelIndex& index : embedded_knowledge().indexes) {
        if (index.releases.empty() || index.device_packages || index.kind == "cpu")
            continue;
        const std::string release = index.releases.back().torch;
        for (const std::string& target : index.targets_of(release)) {
            if (target.find(':') != std::string::npos || target.find("generic") != std::string::npos ||
                target.starts_with("compute") || target.back() == 'a')
                continue;
            ++pairs;
            const Facts facts = host_with_wheel(target, release + "+" + index.id);
            for (const Finding& finding : examine_host(facts, {}, embedded_knowledge()))
                EXPECT_FALSE(about_code.contains(finding.cause)) << index.id << ' ' << target;
            for (const CaseFile& one : logs) {
                const LogDiagnosis diagnosis = diagnoser.diagnose(log_from_text(one.log, one.name), facts);
                for (const Finding& finding : diagnosis.findings)
                    EXPECT_FALSE(about_code.contains(finding.cause))
                        << finding.cause << " of torch " << release << " from " << index.id << " with "
                        << target << ", log " << one.name;
            }
        }
    }
    EXPECT_GE(pairs, 100U);
}

TEST(WheelWithTheTarget, WithoutItTheCauseIsNamed) {
    LogDiagnoser diagnoser(embedded_knowledge());
    const LogDiagnosis diagnosis =
        diagnoser.diagnose(log_from_text("RuntimeError: HIP error: invalid device function\n", "made"),
                           host_with_wheel("gfx1010", "2.5.1+rocm6.2"));
    ASSERT_FALSE(diagnosis.findings.empty());
    EXPECT_EQ(diagnosis.findings.front().cause, "wheel-lacks-gfx");
}

/// For causes that no case file has: a log line for which the doctor names the cause.
const std::map<std::string, std::string, std::less<>> other_logs{
    {"cpu-wheel", "AssertionError: Torch not compiled with CUDA enabled\n"},
    {"host-memory-exhausted", "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed.\n"},
    {"process-killed-by-other",
     "api.py:986] failed (exitcode: -9) local_rank: 1 (pid: 740) of binary: python\n"}};

/// The facts of a host whose kernel log consists of this line.
Facts host_with_kernel_line(const char* line) {
    Facts facts;
    facts.origin = "this machine";
    facts.kernel_log.lines = {{line}, "/dev/kmsg"};
    return facts;
}

/// Returns every log for which the doctor should name this cause: its case files and its entry in other_logs.
std::vector<CaseFile> logs_of_cause(const std::string& cause) {
    std::vector<CaseFile> logs = read_case_files(embedded_knowledge());
    std::erase_if(logs, [&](const CaseFile& one) { return one.cause != cause; });
    if (const auto line = other_logs.find(cause); line != other_logs.end()) {
        CaseFile& one = logs.emplace_back();
        one.name = one.cause = cause;
        one.log = line->second;
        if (cause == "process-killed-by-other") // needs proof that the kernel did not do it
            one.facts = host_with_kernel_line("[   12.0] amdgpu 0000:03:00.0: reset");
    }
    return logs;
}

PythonEnvironment& posted_python(Facts& facts) {
    facts.origin = "a posted case";
    return facts.pythons.empty() ? facts.pythons.emplace_back() : facts.pythons.front();
}

/// The facts of a log's host, changed so that `unless` holds: once for each value that it lists.
std::vector<Facts> where_it_holds(const Condition& unless, const CaseFile& one) {
    std::vector<Facts> all;
    if (unless.key == "torch_kind")
        for (const std::string& kind : unless.values) {
            PythonEnvironment& python = posted_python(all.emplace_back(one.facts));
            python.torch = {"2.7.0+" + (kind == "rocm"   ? "rocm6.3"
                                        : kind == "cuda" ? "cu128"
                                                         : kind),
                            "posted"};
            python.torch_kind = {};
        }
    if (unless.key == "wheel_contains_gfx") {
        const bool amd = one.cause == "wheel-lacks-gfx";
        all.push_back(host_with_wheel(amd ? "gfx1100" : "sm_86", amd ? "2.5.1+rocm6.2" : "2.4.1+cu121"));
    }
    if (unless.key == "wsl") {
        Facts& facts = all.emplace_back(one.facts);
        facts.system.wsl = {0, "posted"};
        facts.system.kernel = {"6.8.0-45-generic", "posted"};
    }
    if (unless.key == "space_in_path")
        posted_python(all.emplace_back(one.facts)).path = "/srv/train/venv";
    if (unless.key == "not") // the knowledge has it for RDNA1 only
        for (const char* other : {"gfx1030", "gfx1100", "gfx1201"})
            all.push_back(host_with_wheel(other, "2.9.1+rocm6.4"));
    if (one.cause == "host-memory-exhausted")
        all.push_back(host_with_kernel_line("[   12.0] amdgpu 0000:03:00.0: reset"));
    if (one.cause == "process-killed-by-other")
        all.push_back(host_with_kernel_line("[   99.0] Out of memory: Killed process 740 (python)"));
    if (unless.key == "vram_used_share")
        for (const std::uint64_t used : {95ull, 100ull}) {
            Facts& facts = all.emplace_back(one.facts);
            facts.origin = "a posted case";
            if (facts.gpus.empty())
                facts.gpus.emplace_back().vendor = "amd";
            facts.gpus.front().vram_total = {100ull << 20, "posted"};
            facts.gpus.front().vram_used = {used << 20, "posted"};
        }
    return all;
}

bool is_named(LogDiagnoser& diagnoser, const CaseFile& one, const Facts& facts) {
    const std::vector<Finding> findings =
        diagnoser.diagnose(log_from_text(one.log, one.name), facts).findings;
    return std::any_of(findings.begin(), findings.end(),
                       [&](const Finding& finding) { return finding.cause == one.cause; });
}

/// Every cause that has `unless`.
TEST(Unless, RulesItsCauseOut) {
    LogDiagnoser diagnoser(embedded_knowledge());
    std::size_t causes = 0;
    for (const Cause& cause : embedded_knowledge().causes) {
        if (cause.unless.key.empty())
            continue;
        ++causes;
        const std::vector<CaseFile> logs = logs_of_cause(cause.slug);
        EXPECT_FALSE(logs.empty()) << "no log leads to " << cause.slug;
        for (const CaseFile& one : logs) {
            EXPECT_TRUE(is_named(diagnoser, one, one.facts)) << cause.slug << ", " << one.name;
            const std::vector<Facts> held = where_it_holds(cause.unless, one);
            EXPECT_FALSE(held.empty()) << "unless " << cause.unless.key << " is not known to this test";
            for (const Facts& facts : held)
                EXPECT_FALSE(is_named(diagnoser, one, facts))
                    << cause.slug << ", " << one.name << ", torch "
                    << (facts.pythons.empty() ? "" : facts.pythons.front().torch.value_or(""));
        }
    }
    EXPECT_GE(causes, 7U);
}

const std::string handle_line =
    "RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling `hipblasCreate(handle)`\n";

/// The same full GPU as five programs print it.
TEST(FullMemory, IsTheCauseWhenAHandleCannotBeCreated) {
    for (const char* memory :
         {"GPU[0]\t\t: VRAM Total Memory (B): 21458059264\nGPU[0]\t\t: VRAM Total Used Memory (B): "
          "21457534976\n",
          "GPU[0]: VRAM Total Memory (B): 21458059264\nGPU[0]: VRAM Total Used Memory (B): 21457534976\n"
          "GPU[1]: VRAM Total Memory (B): 21458059264\nGPU[1]: VRAM Total Used Memory (B): 27017216\n",
          "21457534976 of 21458059264 bytes used\n",
          "rocm-smi shows 21457534976 / 21458059264 bytes in use\n",
          "/sys/class/drm/card1/device/mem_info_vram_used:21457534976\n"
          "/sys/class/drm/card1/device/mem_info_vram_total:21458059264\n",
          "USED_VRAM: 20463 MB\nTOTAL_VRAM: 20464 MB\n", "GPU[0]\t\t: GPU Memory Allocated (VRAM%): 99\n",
          "Device  Node  Temp    Power  Perf  PwrCap  VRAM%  GPU%\n"
          "0       1     38.0C   15.0W  0Mhz  96Mhz  0%   auto  265.0W  99%    0%\n"}) {
        for (const bool before : {false, true}) {
            const LogText log = log_from_text(before ? memory + handle_line : handle_line + memory, "posted");
            const Report report = make_report({}, {}, &log, embedded_knowledge());
            ASSERT_FALSE(report.findings.empty()) << memory;
            EXPECT_EQ(report.findings.front().cause, "vram-held-by-other-process") << memory;
            ASSERT_FALSE(report.plan.steps.empty());
            EXPECT_EQ(report.plan.steps.front().id, "look-for-holders");
            for (const Step& step : report.plan.steps)
                EXPECT_EQ(step.environment, "") << step.id << ": full memory needs no other version";
        }
    }
}

TEST(FullMemory, IsKnownFromTheHostAsWell) {
    const auto folder = std::filesystem::path(test::data_folder).parent_path().parent_path() / "hosts";
    const auto json = nlohmann::ordered_json::parse(read_file(folder / "two-7900xt-vram-held.json"));
    const Recording host = recording_from_json({{"facts", json.at("facts")}}, "host");
    const LogText log = log_from_text(handle_line, "posted");
    const Report report = make_report(host.facts, {}, &log, embedded_knowledge());
    ASSERT_FALSE(report.findings.empty());
    EXPECT_EQ(report.findings.front().cause, "vram-held-by-other-process");
    ASSERT_FALSE(report.plan.steps.empty());
    EXPECT_NE(report.plan.steps.front().title.find("48213"), std::string::npos)
        << "the process that holds it";
}

TEST(FullMemory, WithAnEmptyGpuTheCauseIsAnother) {
    const LogText log = log_from_text(
        handle_line +
            "GPU[0]: VRAM Total Memory (B): 21458059264\nGPU[0]: VRAM Total Used Memory (B): 27017216\n",
        "posted");
    for (const Finding& finding : diagnose_log(log, {}, embedded_knowledge()).findings)
        EXPECT_NE(finding.cause, "vram-held-by-other-process");
}

} // namespace
} // namespace rekindle::doctor
