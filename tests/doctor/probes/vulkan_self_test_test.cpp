#include "probes/probe_child_program.h"

#include <rekindle/doctor/probe.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rekindle::doctor {
namespace {

using testing::HasSubstr;

/// The results for all devices.
std::vector<ProbeResult> self_tests() {
    ProbeOptions options;
    options.program = test::probe_child();
    std::vector<ProbeResult> results = run_probes({}, options);
    std::erase_if(results, [](const ProbeResult& result) { return result.id != "vulkan-self-test"; });
    return results;
}

const ProbeResult* of_processor(const std::vector<ProbeResult>& results) {
    const auto found = std::ranges::find_if(results, [](const ProbeResult& result) {
        return result.values.contains("type") && result.values.at("type") == "cpu";
    });
    return found == results.end() ? nullptr : &*found;
}

TEST(VulkanSelfTestProbe, LavapipeComputesTheKnownAnswers) {
    const std::vector<ProbeResult> results = self_tests();
    const ProbeResult* result = of_processor(results);
    ASSERT_NE(result, nullptr) << "no lavapipe: " << (results.empty() ? "" : results[0].reason);
    EXPECT_EQ(result->status, ProbeStatus::passed) << result->reason << result->errors;
    EXPECT_TRUE(result->values.at("address").starts_with("gpu:"));
    EXPECT_EQ(result->values.at("driver"), "llvmpipe");
    EXPECT_GE(std::stoi(result->values.at("passed")), 14);
    EXPECT_EQ(result->values.at("wrong"), "");
    EXPECT_THAT(result->values.at("uuid"), HasSubstr("GPU-"));
}

TEST(VulkanSelfTestProbe, AWrongAnswerIsAFailureThatNamesThePath) {
    const test::ScopedVariable fault("REKINDLE_FAULT", "wrong-answer:1");
    const std::vector<ProbeResult> results = self_tests();
    const ProbeResult* result = of_processor(results);
    ASSERT_NE(result, nullptr);
    EXPECT_EQ(result->status, ProbeStatus::failed);
    EXPECT_EQ(result->values.at("wrong"), "float32 arithmetic");
    EXPECT_EQ(result->values.at("usable"), "no");
    EXPECT_THAT(result->reason, HasSubstr("wrong answers: float32 arithmetic: "));
    EXPECT_TRUE(result->reason.ends_with("; the device is not used")) << result->reason;
}

TEST(VulkanSelfTestProbe, HiddenDevicesAreNotProbed) {
    const test::ScopedVariable none("REKINDLE_VISIBLE_DEVICES", "");
    const std::vector<ProbeResult> results = self_tests();
    const ProbeResult* result = of_processor(results);
    ASSERT_NE(result, nullptr);
    EXPECT_EQ(result->status, ProbeStatus::skipped);
    EXPECT_EQ(result->reason, "REKINDLE_VISIBLE_DEVICES hides it");
}

TEST(VulkanSelfTestProbe, WithoutADriverItIsSkipped) {
    const test::ScopedVariable files("VK_ICD_FILENAMES", "/no/such/manifest.json");
    const test::ScopedVariable newer_files("VK_DRIVER_FILES", "/no/such/manifest.json");
    const std::vector<ProbeResult> results = self_tests();
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].status, ProbeStatus::skipped);
    EXPECT_EQ(results[0].reason, "vulkan-devices found no device to try it on");
}

} // namespace
} // namespace rekindle::doctor
