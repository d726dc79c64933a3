#include "probes/gpu_trouble.h"

#include <gtest/gtest.h>

namespace rekindle::doctor {
namespace {

Facts host_with(std::vector<std::string> log) {
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
        host_with({"amdgpu 0000:03:00.0: enabling device (0006 -> 0007)", line, "amdgpu: finished"});
    std::vector<std::string> addresses;
    for (const Gpu& gpu : facts.gpus)
        if (!line_of_trouble(facts.kernel_log, gpu).empty())
            addresses.push_back(gpu.address);
    return addresses;
}

TEST(GpuTrouble, HangsAndResetsAreThoseOfTheGpuThatTheLineNames) {
    using Addresses = std::vector<std::string>;
    EXPECT_EQ(troubled("amdgpu 0000:03:00.0: amdgpu: GPU reset begin!"), Addresses{"0000:03:00.0"});
    EXPECT_EQ(troubled("amdgpu 0000:0a:00.0: amdgpu: GPU reset(4) succeeded!"), Addresses{"0000:0a:00.0"});
    EXPECT_EQ(troubled("amdgpu 0000:0a:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE"),
              Addresses{"0000:0a:00.0"});
    EXPECT_EQ(troubled("NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', GPU has fallen off the bus."),
              Addresses{"0000:01:00.0"});
}

TEST(GpuTrouble, ALineWithoutAnAddressSpeaksOfEveryGpuOfItsDriver) {
    const std::vector<std::string> both{"0000:03:00.0", "0000:0a:00.0"};
    EXPECT_EQ(troubled("[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=1"),
              both);
}

TEST(GpuTrouble, OtherLinesAreNone) {
    for (const char* line : {
             "amdgpu 0000:03:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32769)",
             "NVRM: Xid (PCI:0000:01:00): 31, pid=4711, name=python3, MMU Fault",
             "amdgpu 0000:03:00.0: amdgpu: SMU is initialized successfully!",
             "usb 1-1: reset high-speed USB device number 2",
         })
        EXPECT_TRUE(troubled(line).empty()) << line;
}

TEST(GpuTrouble, TheReasonQuotesTheLine) {
    const Facts facts = host_with({"amdgpu 0000:0a:00.0: amdgpu: GPU reset begin!"});
    EXPECT_EQ(troubled_gpu(facts, "amd"), "the kernel log tells of a hang or reset of 0000:0a:00.0 "
                                          "(amdgpu 0000:0a:00.0: amdgpu: GPU reset begin!)");
    EXPECT_EQ(troubled_gpu(facts, "nvidia"), "");
    EXPECT_NE(troubled_gpu(facts, ""), "");
}

} // namespace
} // namespace rekindle::doctor
