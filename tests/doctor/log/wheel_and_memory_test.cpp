/// A cause that the facts rule out is never named, and full memory is named.

#include "case_files.h"
#include "log/log_diagnoser.h"

#include <rekindle/base/file.h>
#include <rekindle/doctor/facts_json.h>
#include <rekindle/doctor/report.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
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
