#include <rekindle/doctor/diagnosis.h>
#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>

#include <gtest/gtest.h>

namespace rekindle::doctor {
namespace {

Facts host_with(std::vector<std::string> kernel_log) {
    Facts facts;
    Gpu gpu;
    gpu.address = "0000:00:06.0";
    gpu.vendor = "nvidia";
    facts.gpus.push_back(std::move(gpu));
    facts.kernel_log.lines = {std::move(kernel_log), "/dev/kmsg"};
    return facts;
}

std::vector<std::string> causes_of(std::vector<std::string> kernel_log) {
    std::vector<std::string> causes;
    for (const Finding& finding : examine_host(host_with(std::move(kernel_log)), {}, embedded_knowledge()))
        if (finding.severity != Severity::note) {
            causes.push_back(finding.cause);
            EXPECT_EQ(finding.devices, std::vector<std::string>{"0000:00:06.0"});
        }
    return causes;
}

TEST(Xid, ErrorsOfTheGpuHaveTheirCause) {
    using Causes = std::vector<std::string>;
    EXPECT_EQ(causes_of({"[1.0] NVRM: Xid (PCI:0000:00:06): 79, pid=835, GPU has fallen off the bus."}),
              Causes{"gpu-off-the-bus"});
    EXPECT_EQ(causes_of({"[1.0] NVRM: Xid (PCI:0000:00:06): 119, pid=1, name=x, Timeout waiting for RPC"}),
              Causes{"gsp-firmware-timeout"});
    EXPECT_EQ(causes_of({"[1.0] NVRM: Xid (PCI:0000:00:06): 74, NVLink"}), Causes{"nvlink-fault"});
    EXPECT_EQ(
        causes_of({"[1.0] NVRM: Xid (PCI:0000:00:06): 48, DBE", "[2.0] NVRM: Xid (PCI:0000:00:06): 63, x"}),
        Causes{"gpu-hardware-fault"});
}

/// An H100 logged the line with channel 0x0000000a after an embedding index was out of range.
TEST(Xid, FaultsOfOneProgramAreNoFindingAboutTheHost) {
    for (const int number : {13, 31, 32, 43, 45, 68, 154})
        EXPECT_EQ(causes_of({"[1.0] NVRM: Xid (PCI:0000:00:06): " + std::to_string(number) + ", pid=835"}),
                  std::vector<std::string>{})
            << number;
    EXPECT_EQ(
        causes_of({"[   80.654387] NVRM: Xid (PCI:0000:00:06): 43, pid=835, name=python3, channel 0x0000000a",
                   "NVRM: Xid", "NVRM: Xid (PCI:0000:00:06): "}),
        std::vector<std::string>{});
}

} // namespace
} // namespace rekindle::doctor
