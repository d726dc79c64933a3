#include "doctor/vulkan_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rekindle::cli {
namespace {

using doctor::ProbeResult;
using doctor::ProbeStatus;
using testing::HasSubstr;

ProbeResult probe(const std::string& address, ProbeStatus status) {
    ProbeResult result;
    result.id = "vulkan-self-test";
    result.device = "0000:03:00.0";
    result.status = status;
    result.values = {{"address", address},     {"name", "A made-up GPU"},
                     {"type", "discrete"},     {"memory", "16.0 GiB"},
                     {"driver", "radv"},       {"driver_info", "Mesa 25.0.7"},
                     {"subgroup", "32 to 64"}, {"shared_memory", "64.0 KiB"},
                     {"float16", "yes"},       {"matrix_units", "16x16x16"},
                     {"passed", "22"},         {"wrong", ""}};
    return result;
}

TEST(VulkanDevices, AreSortedByAddress) {
    ProbeResult host;
    host.id = "vulkan-devices";
    host.device = "0000:03:00.0";
    const auto devices =
        vulkan_devices({host, probe("gpu:10", ProbeStatus::passed), probe("gpu:9", ProbeStatus::passed)});
    ASSERT_EQ(devices.size(), 2U);
    EXPECT_EQ(devices[0].address, "gpu:9");
    EXPECT_TRUE(devices[0].usable);
    const std::string text = render_vulkan_devices(devices, 80);
    EXPECT_THAT(text, HasSubstr("  gpu:9  A made-up GPU\n         discrete, 16.0 GiB; radv Mesa 25.0.7\n"));
    EXPECT_THAT(text, HasSubstr("subgroups of 32 to 64, 64.0 KiB of shared memory, float16: yes"));
    EXPECT_THAT(text, HasSubstr("usable: all 22 self-test results are correct"));
    EXPECT_EQ(json_of(devices)[1].at("matrix_units"), "16x16x16");
}

TEST(VulkanDevices, WrongAnswersAndRefusalsAreReported) {
    ProbeResult wrong = probe("gpu:0", ProbeStatus::failed);
    wrong.values["wrong"] = "float16 arithmetic";
    wrong.values["usable"] = "yes";
    ProbeResult broken = wrong;
    broken.values["usable"] = "no";
    ProbeResult refused = probe("", ProbeStatus::skipped);
    refused.reason = "rekindle train cannot use it: it lacks bufferDeviceAddress";
    ProbeResult dead;
    dead.id = "vulkan-self-test";
    dead.device = "vulkan:1";
    dead.status = ProbeStatus::crashed;
    dead.reason = "ended by SIGSEGV (11), in vkCreateDevice";
    const auto devices = vulkan_devices({wrong, broken, dead, refused});
    ASSERT_EQ(devices.size(), 4U);
    EXPECT_TRUE(devices[0].usable);
    EXPECT_EQ(devices[0].note, "wrong answers: float16 arithmetic; what depends on them is not used");
    EXPECT_FALSE(devices[1].usable);
    EXPECT_EQ(devices[1].note, "wrong answers: float16 arithmetic; the device is not used");
    EXPECT_EQ(devices[2].address, "vulkan:1");
    EXPECT_FALSE(devices[2].usable);
    EXPECT_EQ(devices[3].address, "0000:03:00.0");
    const std::string text = render_vulkan_devices(devices, 100);
    EXPECT_THAT(text, HasSubstr("not usable: ended by SIGSEGV (11), in vkCreateDevice"));
    EXPECT_THAT(text, HasSubstr("not usable: rekindle train cannot use it: it lacks bufferDeviceAddress"));
    EXPECT_TRUE(vulkan_devices({}).empty());
}

} // namespace
} // namespace rekindle::cli
