#include "probes/probe_child_program.h"

#include <rekindle/doctor/probe.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace rekindle::doctor {
namespace {

namespace fs = std::filesystem;

ProbeOptions vulkan_options(ProbeLevel level = ProbeLevel::safe) {
    ProbeOptions options;
    options.level = level;
    options.program = test::probe_child();
    return options;
}

std::vector<ProbeResult> vulkan_results(const Facts& facts, const ProbeOptions& with) {
    std::vector<ProbeResult> results = run_probes(facts, with);
    std::erase_if(results, [](const ProbeResult& result) { return result.id != "vulkan-devices"; });
    return results;
}

/// Manifest of Mesa's CPU driver; names differ between versions of Mesa.
std::string lavapipe_manifest() {
    for (const char* folder :
         {"/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"}) {
        std::error_code absent;
        for (const fs::directory_entry& entry : fs::directory_iterator(folder, absent))
            if (entry.path().filename().string().starts_with("lvp_icd"))
                return entry.path().string();
    }
    return {};
}

TEST(VulkanProbe, FindsLavapipe) {
    const std::string manifest = lavapipe_manifest();
    if (manifest.empty())
        GTEST_SKIP() << "skipped: Mesa's CPU driver (lvp_icd*.json) is not installed";
    const test::ScopedVariable files("VK_ICD_FILENAMES", manifest);
    const test::ScopedVariable newer_files("VK_DRIVER_FILES", manifest);
    const std::vector<ProbeResult> results = vulkan_results({}, vulkan_options());
    ASSERT_FALSE(results.empty());
    if (results[0].status == ProbeStatus::skipped)
        GTEST_SKIP() << "skipped: no Vulkan loader: " << results[0].reason;
    ASSERT_EQ(results.size(), 2U) << results[0].reason << results[0].errors;
    EXPECT_EQ(results[0].status, ProbeStatus::passed) << results[0].reason;
    EXPECT_EQ(results[0].values.at("devices"), "1");
    EXPECT_EQ(results[0].device, "");
    EXPECT_GT(results[0].seconds, 0);
    EXPECT_EQ(results[1].device, "vulkan:0");
    EXPECT_EQ(results[1].values.at("type"), "processor");
    EXPECT_EQ(results[1].values.at("driver"), "llvmpipe");
    EXPECT_TRUE(results[1].values.at("name").starts_with("llvmpipe"));
    EXPECT_TRUE(results[1].values.at("api_version").starts_with("1."));
    EXPECT_NE(results[1].values.at("heaps").find("device"), std::string::npos);
}

TEST(VulkanProbe, ALoaderWithoutDriversFails) {
    const test::ScopedVariable files("VK_ICD_FILENAMES", "/no/such/manifest.json");
    const test::ScopedVariable newer_files("VK_DRIVER_FILES", "/no/such/manifest.json");
    const std::vector<ProbeResult> results = vulkan_results({}, vulkan_options());
    ASSERT_EQ(results.size(), 1U);
    if (results[0].status == ProbeStatus::skipped)
        GTEST_SKIP() << "skipped: no Vulkan loader: " << results[0].reason;
    EXPECT_EQ(results[0].status, ProbeStatus::failed);
    EXPECT_EQ(results[0].code, "VK_ERROR_INCOMPATIBLE_DRIVER (-9)");
    EXPECT_EQ(results[0].reason, "vkCreateInstance failed");
}

TEST(VulkanProbe, AGpuThatHungIsSkippedExceptWithProbeAll) {
    Facts facts;
    Gpu gpu;
    gpu.address = "0000:03:00.0";
    gpu.vendor = "amd";
    facts.gpus.push_back(gpu);
    facts.kernel_log.lines = {std::vector<std::string>{"amdgpu 0000:03:00.0: amdgpu: GPU reset begin!"},
                              "/dev/kmsg"};
    const std::vector<ProbeResult> left_alone = vulkan_results(facts, vulkan_options());
    ASSERT_EQ(left_alone.size(), 1U);
    EXPECT_EQ(left_alone[0].status, ProbeStatus::skipped);
    EXPECT_EQ(left_alone[0].reason,
              "the kernel log shows a hang or reset of 0000:03:00.0 (amdgpu 0000:03:00.0: "
              "amdgpu: GPU reset begin!); --probe all tries it anyway");
    const std::vector<ProbeResult> tried = vulkan_results(facts, vulkan_options(ProbeLevel::all));
    ASSERT_FALSE(tried.empty());
    EXPECT_EQ(tried[0].reason.find("kernel log"), std::string::npos);
    EXPECT_TRUE(run_probes(facts, vulkan_options(ProbeLevel::none)).empty());
}

TEST(VulkanProbe, AProgramThatIsNotAProbeIsReported) {
    ProbeOptions broken = vulkan_options();
    broken.program = "/no/such/program";
    const std::vector<ProbeResult> results = vulkan_results({}, broken);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].status, ProbeStatus::failed);
    EXPECT_EQ(results[0].reason, "cannot start /no/such/program: No such file or directory");
    broken.program = "/bin/false";
    const std::vector<ProbeResult> silent = vulkan_results({}, broken);
    ASSERT_EQ(silent.size(), 1U);
    EXPECT_EQ(silent[0].status, ProbeStatus::crashed);
    EXPECT_EQ(silent[0].reason, "the process ended without a result, exit status 1");
    EXPECT_EQ(silent[0].exit_status, 1);
}

} // namespace
} // namespace rekindle::doctor
