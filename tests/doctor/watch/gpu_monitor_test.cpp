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

/// A file gpu_metrics of layout `format`.`content` that has the throttle status at `offset`.
std::string metrics(char format, char content, std::size_t size, std::size_t offset, std::uint64_t status) {
    std::string bytes(size, '\0');
    bytes[0] = static_cast<char>(size);
    bytes[2] = format;
    bytes[3] = content;
    for (std::size_t i = 0; i < 8; ++i)
        bytes[offset + i] = static_cast<char>(status >> (8 * i) & 0xFF);
    return bytes;
}

/// The values that both amdgpu's files and NVML can give.
struct Values {
    double load, temperature, power, power_limit, core_clock, memory_clock;
    std::uint64_t memory_used, memory_total, memory_errors, pcie_replays;
};

void expect_values(const GpuReading& reading, const Values& expected) {
    EXPECT_EQ(reading.load.value, expected.load);
    EXPECT_EQ(reading.temperature.value, expected.temperature);
    EXPECT_EQ(reading.power.value, expected.power);
    EXPECT_EQ(reading.power_limit.value, expected.power_limit);
    EXPECT_EQ(reading.core_clock.value, expected.core_clock);
    EXPECT_EQ(reading.memory_clock.value, expected.memory_clock);
    EXPECT_EQ(reading.memory_used.value, expected.memory_used);
    EXPECT_EQ(reading.memory_total.value, expected.memory_total);
    EXPECT_EQ(reading.memory_errors.value, expected.memory_errors);
    EXPECT_EQ(reading.pcie_replays.value, expected.pcie_replays);
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
    expect_values(reading, {.load = 97,
                            .temperature = 71,
                            .power = 148.25,
                            .power_limit = 150,
                            .core_clock = 1620,
                            .memory_clock = 875,
                            .memory_used = 12582912,
                            .memory_total = 6425673728,
                            .memory_errors = 3,
                            .pcie_replays = 12});
    EXPECT_EQ(reading.hotspot_temperature.value, 88.5);
    EXPECT_EQ(reading.throttling.value, (Words{"power", "temperature"}));
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

/// A feed from the fake NVML, which misbehaves as `words` says (behavior.h). Never opens the host's own NVML.
class FakeNvml {
  public:
    explicit FakeNvml(const std::string& words)
        : behavior_("REKINDLE_FAKE_DRIVER", words), count_("REKINDLE_FAKE_DEVICES", "2"),
          feed_({.interval = std::chrono::milliseconds(50),
                 .program = test::probe_child(),
                 .nvml = (test::folder_of_tests() / "fake_nvml/libnvidia-ml.so.1").string()}) {}

    NvmlFeed& feed() { return feed_; }
    GpuReading reading(std::size_t index) {
        GpuReading reading;
        read_from_nvml(feed_.newest().at(index), reading);
        return reading;
    }

  private:
    ScopedVariable behavior_, count_;
    NvmlFeed feed_;
};

TEST(NvmlFeed, ReadsEveryGpu) {
    FakeNvml nvml("");
    ASSERT_EQ(nvml.feed().newest().size(), 2U) << nvml.feed().problem();
    EXPECT_EQ(nvml.feed().problem(), "");
    EXPECT_EQ(nvml.feed().newest().at(1).device, "0000:1b:00.0");
    const GpuReading reading = nvml.reading(1);
    expect_values(reading, {.load = 91,
                            .temperature = 71,
                            .power = 312.5,
                            .power_limit = 350,
                            .core_clock = 1755,
                            .memory_clock = 9501,
                            .memory_used = 6ULL << 30,
                            .memory_total = 24ULL << 30,
                            .memory_errors = 2,
                            .pcie_replays = 5});
    EXPECT_EQ(reading.throttling.value, (Words{"power", "temperature"}));
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
    EXPECT_EQ(hung.feed().problem(), "NVML does not answer: nvmlDeviceGetPowerUsage has not returned");
}

TEST(NvmlFeed, AHostWithoutNvml) {
    NvmlFeed feed({.program = test::probe_child(), .nvml = "libnvidia-ml-absent.so.1"});
    EXPECT_TRUE(feed.newest().empty());
    EXPECT_TRUE(feed.absent());
    EXPECT_NE(feed.problem().find("libnvidia-ml-absent.so.1"), std::string::npos) << feed.problem();
}

TEST(NvmlFeed, ReadsTheNvmlOfThisHostOrSaysWhyNot) {
    NvmlFeed feed({.interval = std::chrono::milliseconds(50), .program = test::probe_child()});
    feed.newest();
    for (int i = 0; i < 15 && feed.problem().starts_with("NVML does not answer"); ++i)
        feed.newest(); // a driver that is not loaded yet needs several seconds
    if (!feed.problem().empty()) {
        EXPECT_TRUE(feed.newest().empty()) << feed.problem();
        return;
    }
    for (const ProbeResult& device : feed.newest()) {
        GpuReading reading;
        read_from_nvml(device, reading);
        EXPECT_NE(device.values.count("name"), 0U) << device.device;
        EXPECT_GT(reading.memory_total.value_or(0), 0U) << reading.memory_total.unread;
        EXPECT_LE(reading.memory_used.value_or(0), reading.memory_total.value_or(0));
    }
}

} // namespace
} // namespace rekindle::doctor
