#include "../../../doctor/src/watch/nvml_feed.h"
#include "../../../doctor/src/watch/sysfs_readings.h"
#include "../host/host_tree.h"
#include "../probes/probe_child_program.h"

#include <rekindle/doctor/gpu_monitor.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace rekindle::doctor {
namespace {

using fixtures::AmdGpu;
using fixtures::HostTree;
using test::ScopedVariable;
using Words = std::vector<std::string>;

/// The file gpu_metrics with a layout and a throttle status at an offset.
std::string metrics(char format, char content, std::size_t size, std::size_t offset, std::uint64_t status) {
    std::string bytes(size, '\0');
    bytes[0] = static_cast<char>(size);
    bytes[2] = format;
    bytes[3] = content;
    for (std::size_t i = 0; i < 8; ++i)
        bytes[offset + i] = static_cast<char>(status >> (8 * i) & 0xFF);
    return bytes;
}

AmdGpu navi10() {
    AmdGpu gpu;
    gpu.pci = {.address = "0000:03:00.0",
               .device = 0x731f,
               .revision = 0xca,
               .parents = "pci0000:00/0000:00:01.1",
               .driver = "amdgpu"};
    gpu.vram = gpu.visible = 6425673728;
    return gpu;
}

MonitorSample sample_of(const HostTree& tree) {
    return GpuMonitor({.root = tree.root()}, embedded_knowledge()).read();
}

TEST(GpuMonitor, ReadsTheFilesOfAmdgpu) {
    const HostTree tree;
    const AmdGpu gpu = navi10();
    add_amd_gpu(tree, gpu);
    const std::string folder = gpu.pci.folder();
    const std::string hwmon = folder + "/hwmon/hwmon4/";
    tree.file(folder + "/gpu_busy_percent", "97\n");
    tree.file(hwmon + "temp1_input", "71000\n");
    tree.file(hwmon + "temp1_label", "edge\n");
    tree.file(hwmon + "temp2_input", "88500\n");
    tree.file(hwmon + "temp2_label", "junction\n");
    tree.file(hwmon + "power1_average", "148250000\n");
    tree.file(hwmon + "power1_cap", "150000000\n");
    tree.file(hwmon + "freq1_input", "1620000000\n");
    tree.file(folder + "/pp_dpm_mclk", "0: 100Mhz\n1: 875Mhz *\n2: 900Mhz\n");
    tree.file(folder + "/gpu_metrics", metrics(1, 3, 120, 112, 1ULL << 0 | 1ULL << 36));
    tree.file(folder + "/ras/umc_err_count", "ue: 3\nce: 7\n"); // codespell:ignore
    tree.file(folder + "/pcie_replay_count", "12\n");
    tree.file("/proc/4711/comm", "python\n");
    tree.file("/proc/4711/fdinfo/5",
              "drm-driver: amdgpu\ndrm-pdev: 0000:03:00.0\ndrm-client-id: 8\ndrm-memory-vram: 4096 MiB\n");
    const MonitorSample sample = sample_of(tree);
    ASSERT_EQ(sample.gpus.size(), 1U);
    const GpuReading& reading = sample.gpus.front();
    EXPECT_EQ(reading.name, "Radeon RX 5600 XT");
    EXPECT_EQ(reading.load.value, 97);
    EXPECT_EQ(reading.memory_used.value, 12582912U);
    EXPECT_EQ(reading.memory_total.value, 6425673728U);
    EXPECT_EQ(reading.temperature.value, 71);
    EXPECT_EQ(reading.hotspot_temperature.value, 88.5);
    EXPECT_EQ(reading.power.value, 148.25);
    EXPECT_EQ(reading.power_limit.value, 150);
    EXPECT_EQ(reading.core_clock.value, 1620);
    EXPECT_EQ(reading.memory_clock.value, 875);
    EXPECT_EQ(reading.throttling.value, (Words{"power", "temperature"}));
    EXPECT_EQ(reading.memory_errors.value, 3U);
    EXPECT_EQ(reading.pcie_replays.value, 12U);
    ASSERT_EQ(reading.holders.size(), 1U);
    EXPECT_EQ(reading.holders.front().command, "python");
    EXPECT_EQ(reading.holders.front().vram, 4ULL << 30);
    EXPECT_TRUE(sample.new_errors.empty());
}

TEST(GpuMonitor, AMissingFileIsAReasonAndNotZero) {
    const HostTree tree;
    add_amd_gpu(tree, navi10());
    const GpuReading reading = sample_of(tree).gpus.at(0);
    EXPECT_EQ(reading.load.value, 3);
    for (const Fact<double>& fact : {reading.hotspot_temperature, reading.power, reading.power_limit,
                                     reading.core_clock, reading.memory_clock}) {
        EXPECT_FALSE(fact.known());
        EXPECT_FALSE(fact.unread.empty());
    }
    EXPECT_FALSE(reading.throttling.known());
    EXPECT_EQ(reading.memory_errors.unread, "No such file or directory");
}

TEST(GpuMonitor, AGpuWithoutDriverSaysSo) {
    const HostTree tree;
    AmdGpu gpu = navi10();
    gpu.pci.driver.clear();
    add_device(tree, gpu.pci);
    const GpuReading reading = sample_of(tree).gpus.at(0);
    EXPECT_FALSE(reading.load.known());
    EXPECT_EQ(reading.load.unread, "no kernel driver is bound to the GPU");
}

TEST(GpuMonitor, IntelNeedsTwoReadingsOfARunningHost) {
    const HostTree tree;
    const fixtures::PciDevice arc{.address = "0000:03:00.0",
                                  .vendor = 0x8086,
                                  .device = 0x56a0,
                                  .parents = "pci0000:00/0000:00:01.0",
                                  .driver = "xe"};
    add_device(tree, arc);
    const std::string folder = arc.folder();
    tree.folder(folder + "/drm/card1");
    tree.file(folder + "/hwmon/hwmon2/energy1_input", "1000000\n");
    tree.file(folder + "/hwmon/hwmon2/temp2_label", "pkg\n");
    tree.file(folder + "/hwmon/hwmon2/temp2_input", "55000\n");
    tree.file(folder + "/tile0/gt0/freq0/act_freq", "2400\n");
    tree.file(folder + "/tile0/gt0/freq0/throttle/status", "1\n");
    tree.file(folder + "/tile0/gt0/freq0/throttle/reason_pl1", "1\n");
    tree.file(folder + "/tile0/gt0/freq0/throttle/reason_thermal", "0\n");
    GpuMonitor monitor({.root = tree.root()}, embedded_knowledge());
    monitor.read();
    const GpuReading reading = monitor.read().gpus.at(0);
    EXPECT_EQ(reading.power.unread, "needs two readings of a running host");
    EXPECT_EQ(reading.load.unread, "needs two readings of a running host");
    EXPECT_EQ(reading.temperature.value, 55);
    EXPECT_EQ(reading.core_clock.value, 2400);
    EXPECT_EQ(reading.throttling.value, Words{"pl1"});
    EXPECT_FALSE(reading.memory_used.known());
}

TEST(GpuMetrics, OnlyLayoutsWithCommonReasonsAreDecoded) {
    EXPECT_EQ(throttling_of_metrics(metrics(1, 3, 120, 112, 0), "x").value, Words{});
    EXPECT_EQ(throttling_of_metrics(metrics(2, 2, 128, 120, 1ULL << 46), "x").value,
              Words{"processor hot signal"});
    EXPECT_EQ(throttling_of_metrics(metrics(1, 3, 120, 112, 3ULL << 16), "x").value, Words{"current"});
    EXPECT_FALSE(throttling_of_metrics(metrics(1, 1, 120, 112, 1), "x").known());
    EXPECT_FALSE(throttling_of_metrics(metrics(1, 3, 120, 112, ~0ULL), "x").known());
    EXPECT_EQ(throttling_of_metrics(metrics(1, 3, 120, 112, 1).substr(0, 119), "x").unread,
              "shorter than its layout");
    EXPECT_FALSE(throttling_of_metrics("", "x").known());
}

TEST(ActiveClock, IsTheLineWithTheStar) {
    EXPECT_EQ(active_clock("0: 300Mhz\n1: 1850Mhz *\n"), 1850);
    EXPECT_EQ(active_clock("0: 300Mhz\n1: 1850Mhz\n"), std::nullopt);
    EXPECT_EQ(active_clock(""), std::nullopt);
}

TEST(Fdinfo, CountsTheTimeOfEngines) {
    const DrmClient i915 = parse_fdinfo("drm-pdev: 0000:00:02.0\ndrm-engine-render: 9288864723 ns\n"
                                        "drm-engine-capacity-video: 2\ndrm-resident-local0: 16 MiB\n");
    ASSERT_EQ(i915.engines.size(), 1U);
    EXPECT_EQ(i915.engines.at("render").busy, 9288864723U);
    EXPECT_EQ(i915.vram, 16U << 20);
    const DrmClient xe = parse_fdinfo("drm-cycles-rcs: 28257900\ndrm-total-cycles-rcs: 7655183225\n");
    EXPECT_EQ(xe.engines.at("rcs").busy, 28257900U);
    EXPECT_EQ(xe.engines.at("rcs").total, 7655183225U);
}

/// What the fake NVML reports while it behaves as `words` says.
class FakeNvml {
  public:
    explicit FakeNvml(const std::string& words)
        : behavior_("REKINDLE_FAKE_DRIVER", words), count_("REKINDLE_FAKE_DEVICES", "2"),
          folder_("LD_LIBRARY_PATH", (test::folder_of_tests() / "fake_nvml").string()),
          feed_({.interval = std::chrono::milliseconds(50), .program = test::probe_child()}) {}

    NvmlFeed& feed() { return feed_; }
    GpuReading reading(std::size_t index) {
        GpuReading reading;
        read_from_nvml(feed_.newest().at(index), reading);
        return reading;
    }

  private:
    ScopedVariable behavior_, count_, folder_;
    NvmlFeed feed_;
};

TEST(NvmlFeed, ReadsEveryGpu) {
    FakeNvml nvml("");
    ASSERT_EQ(nvml.feed().newest().size(), 2U) << nvml.feed().problem();
    EXPECT_EQ(nvml.feed().problem(), "");
    EXPECT_EQ(nvml.feed().newest().at(1).device, "0000:1b:00.0");
    const GpuReading reading = nvml.reading(1);
    EXPECT_EQ(reading.load.value, 91);
    EXPECT_EQ(reading.memory_used.value, 6ULL << 30);
    EXPECT_EQ(reading.memory_total.value, 24ULL << 30);
    EXPECT_EQ(reading.temperature.value, 71);
    EXPECT_EQ(reading.power.value, 312.5);
    EXPECT_EQ(reading.power_limit.value, 350);
    EXPECT_EQ(reading.core_clock.value, 1755);
    EXPECT_EQ(reading.memory_clock.value, 9501);
    EXPECT_EQ(reading.throttling.value, (Words{"power", "temperature"}));
    EXPECT_EQ(reading.memory_errors.value, 2U);
    EXPECT_EQ(reading.pcie_replays.value, 5U);
    ASSERT_EQ(reading.holders.size(), 1U);
    EXPECT_EQ(reading.holders.front().pid, 4711);
    EXPECT_EQ(reading.holders.front().vram, 6ULL << 30);
}

TEST(NvmlFeed, AnUnsupportedValueHasTheReason) {
    FakeNvml nvml("nvmlDeviceGetTotalEccErrors=3 nvmlDeviceGetUtilizationRates=3");
    const GpuReading reading = nvml.reading(0);
    EXPECT_FALSE(reading.memory_errors.known());
    EXPECT_EQ(reading.memory_errors.unread, "nvmlDeviceGetTotalEccErrors: Not Supported (3)");
    EXPECT_FALSE(reading.load.known());
    EXPECT_EQ(reading.power.value, 312.5);
}

TEST(NvmlFeed, ALostGpuLosesAllItsValues) {
    FakeNvml nvml("nvmlDeviceGetHandleByIndex_v2=15");
    const GpuReading reading = nvml.reading(0);
    EXPECT_EQ(reading.power.unread, "nvmlDeviceGetHandleByIndex_v2 failed: GPU is lost (15)");
    EXPECT_FALSE(reading.memory_used.known());
}

TEST(NvmlFeed, ADriverThatDoesNotLoadCrashesOrHangsIsAProblem) {
    FakeNvml refused("nvmlInit_v2=9");
    EXPECT_TRUE(refused.feed().newest().empty());
    EXPECT_EQ(refused.feed().problem(), "nvmlInit_v2 failed: Unknown Error (9)");
    FakeNvml crashed("nvmlDeviceGetPowerUsage=crash");
    EXPECT_TRUE(crashed.feed().newest().empty());
    EXPECT_EQ(crashed.feed().problem(), "NVML crashed in nvmlDeviceGetPowerUsage");
    FakeNvml hung("nvmlDeviceGetPowerUsage=hang");
    EXPECT_TRUE(hung.feed().newest().empty());
    EXPECT_EQ(hung.feed().problem(), "NVML does not answer: it is in nvmlDeviceGetPowerUsage");
}

TEST(NvmlFeed, AHostWithoutNvml) {
    const ScopedVariable folder("LD_LIBRARY_PATH", "/nonexistent");
    NvmlFeed feed({.program = test::probe_child()});
    EXPECT_TRUE(feed.newest().empty());
    if (!feed.absent())
        GTEST_SKIP() << "this host has NVML";
    EXPECT_NE(feed.problem().find("libnvidia-ml.so.1"), std::string::npos) << feed.problem();
}

} // namespace
} // namespace rekindle::doctor
