#include "probes/gpu_trouble.h"

#include <gtest/gtest.h>

namespace rekindle::doctor {
namespace {

Facts host_with_log(std::vector<std::string> log) {
    Facts facts;
    for (const auto& [address, vendor] : {std::pair{"0000:03:00.0", "amd"}, std::pair{"0000:0a:00.0", "amd"},
                                          std::pair{"0000:01:00.0", "nvidia"}}) {
        Gpu gpu;
        gpu.address = address;
        gpu.vendor = vendor;
        facts.gpus.push_back(gpu);
    }
    facts.kernel_log.lines = {std::move(log), "/dev/kmsg"};
    return facts;
}

std::vector<std::string> troubled(const std::string& line) {
    const Facts facts =
        host_with_log({"amdgpu 0000:03:00.0: enabling device (0006 -> 0007)", line, "amdgpu: finished"});
    std::vector<std::string> addresses;
    for (const Gpu& gpu : facts.gpus)
        if (!line_of_trouble(facts.kernel_log, gpu).empty())
            addresses.push_back(gpu.address);
    return addresses;
}

TEST(GpuTrouble, HangsAndResetsBelongToTheGpuThatTheLineNames) {
    using Addresses = std::vector<std::string>;
    EXPECT_EQ(troubled("amdgpu 0000:03:00.0: amdgpu: GPU reset begin!"), Addresses{"0000:03:00.0"});
    EXPECT_EQ(troubled("amdgpu 0000:0a:00.0: amdgpu: GPU reset(4) succeeded!"), Addresses{"0000:0a:00.0"});
    EXPECT_EQ(troubled("amdgpu 0000:0a:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE"),
              Addresses{"0000:0a:00.0"});
    EXPECT_EQ(troubled("NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', GPU has fallen off the bus."),
              Addresses{"0000:01:00.0"});
}

TEST(GpuTrouble, ALineWithoutAnAddressAppliesToEveryGpuOfItsDriver) {
    const std::vector<std::string> both{"0000:03:00.0", "0000:0a:00.0"};
    EXPECT_EQ(troubled("[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=1"),
              both);
}

TEST(GpuTrouble, OtherLinesAreIgnored) {
    for (const char* line : {
             "amdgpu 0000:03:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32769)",
             "NVRM: Xid (PCI:0000:01:00): 31, pid=4711, name=python3, MMU Fault",
             "amdgpu 0000:03:00.0: amdgpu: SMU is initialized successfully!",
             "usb 1-1: reset high-speed USB device number 2",
         })
        EXPECT_TRUE(troubled(line).empty()) << line;
}

Facts host_of_two_amd_gpus() {
    Facts facts = host_with_log({"amdgpu 0000:0a:00.0: amdgpu: GPU reset begin!"});
    facts.gpus[0].uuid = {"GPU-6f1e00112233aabb", "/sys/class/drm/card0/device/unique_id"};
    return facts;
}

TEST(GpuTrouble, OnlyTheHealthyOfTwoGpusIsOpened) {
    const GpuAccess access = access_to(host_of_two_amd_gpus(), ProbeLevel::safe, "amd");
    EXPECT_EQ(access.refusal, "");
    EXPECT_EQ(access.environment.at("ROCR_VISIBLE_DEVICES"), "GPU-6f1e00112233aabb");
    ASSERT_EQ(access.skipped_gpus.size(), 1U);
    EXPECT_EQ(access.skipped_gpus[0].address, "0000:0a:00.0");
    EXPECT_EQ(access.skipped_gpus[0].reason,
              "the kernel log shows a hang or reset of 0000:0a:00.0 "
              "(amdgpu 0000:0a:00.0: amdgpu: GPU reset begin!); --probe all tries it anyway");
}

TEST(GpuTrouble, NoneIsOpenedWhenTheHealthyOnesCannotBeSelected) {
    Facts without_uuid = host_of_two_amd_gpus();
    without_uuid.gpus[0].uuid = {};
    Facts with_a_choice = host_of_two_amd_gpus();
    with_a_choice.environment.variables = {{{"HIP_VISIBLE_DEVICES", "1"}}, "this process"};
    Facts all_troubled = host_of_two_amd_gpus();
    all_troubled.kernel_log.lines.value->push_back("amdgpu 0000:03:00.0: amdgpu: GPU reset begin!");
    for (const Facts& facts : {without_uuid, with_a_choice, all_troubled}) {
        const GpuAccess access = access_to(facts, ProbeLevel::safe, "amd");
        EXPECT_NE(access.refusal, "");
        EXPECT_TRUE(access.environment.empty());
    }
    EXPECT_NE(access_to(host_of_two_amd_gpus(), ProbeLevel::safe, "").refusal, "")
        << "Vulkan opens every GPU";
}

TEST(GpuTrouble, OtherVendorsAndProbeAllAreNotRestricted) {
    for (const GpuAccess& access : {access_to(host_of_two_amd_gpus(), ProbeLevel::safe, "nvidia"),
                                    access_to(host_of_two_amd_gpus(), ProbeLevel::all, "amd")}) {
        EXPECT_EQ(access.refusal, "");
        EXPECT_TRUE(access.skipped_gpus.empty());
        EXPECT_TRUE(access.environment.empty());
    }
}

} // namespace
} // namespace rekindle::doctor
