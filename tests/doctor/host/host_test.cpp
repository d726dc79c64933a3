#include "host_tree.h"

#include <rekindle/doctor/host.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace rekindle::doctor {
namespace {

using fixtures::AmdGpu;
using fixtures::HostTree;
using fixtures::PciDevice;

AmdGpu navi31(int node, int minor, const std::string& bus) {
    AmdGpu gpu;
    gpu.pci = {.address = fmt::format("0000:{}:00.0", bus),
               .device = 0x744c,
               .revision = 0xcc,
               .parents = fmt::format("pci0000:00/0000:00:01.{}/0000:0{}:00.0", node, minor + 1),
               .driver = "amdgpu"};
    gpu.minor = minor;
    gpu.node = node;
    gpu.vram = gpu.visible = 21458059264;
    gpu.gfx_version = 110000;
    gpu.units = 84;
    gpu.gc_major = 11;
    gpu.firmware = 590;
    return gpu;
}

void add_raphael(const HostTree& tree) {
    AmdGpu gpu;
    gpu.pci = {.address = "0000:13:00.0",
               .device = 0x164e,
               .revision = 0xc1,
               .parents = "pci0000:00/0000:00:08.1",
               .driver = "amdgpu"};
    gpu.minor = 0;
    gpu.node = 3;
    gpu.vram = gpu.visible = 536870912;
    gpu.gfx_version = 100306;
    gpu.units = 2;
    gpu.gc_major = 10;
    gpu.gc_minor = 3;
    gpu.gc_revision = 6;
    add_amd_gpu(tree, gpu);
    add_device(tree, {.address = "0000:13:00.2", // the CPU's security processor in the same slot
                      .vendor = 0x1022,
                      .device = 0x1649,
                      .class_code = 0x108000,
                      .parents = "pci0000:00/0000:00:08.1"});
}

/// 4096 bytes of config space with a PCIe capability and ACS.
std::string config_space(bool atomics, bool redirects) {
    std::string bytes(4096, '\0');
    const auto put = [&](std::size_t at, unsigned value) {
        for (int i = 0; i < 4; ++i)
            bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
    };
    put(0x00, 0x14db1022);
    put(0x34, 0x58);
    put(0x58, 0x00020010); // PCI Express, version 2, last one
    put(0x58 + 0x24, atomics ? 1U << 6 : 0);
    put(0x100, 0x0001000d); // ACS
    put(0x104, redirects ? 1U << 18 : 0);
    return bytes;
}

const Gpu& at(const Facts& facts, const std::string& address) {
    const auto found = std::find_if(facts.gpus.begin(), facts.gpus.end(),
                                    [&](const Gpu& gpu) { return gpu.address == address; });
    if (found == facts.gpus.end())
        throw std::runtime_error("no GPU at " + address);
    return *found;
}

TEST(Host, TwoDiscreteGpusAndAnIntegratedOne) {
    HostTree tree;
    fixtures::add_processor(tree);
    add_amd_gpu(tree, navi31(1, 1, "03"));
    add_amd_gpu(tree, navi31(2, 2, "07"));
    add_raphael(tree);
    add_device(tree, {.address = "0000:02:00.0",
                      .vendor = 0x1022,
                      .class_code = 0x060400,
                      .parents = "pci0000:00/0000:00:01.1"});
    tree.file("/sys/devices/pci0000:00/0000:00:01.1/0000:02:00.0/config", config_space(true, false));
    tree.file("/sys/class/kfd/kfd/topology/nodes/1/p2p_links/0/properties",
              "type 2\nnode_from 1\nnode_to 2\nflags 1\n");

    const Facts facts = facts_of(tree);
    ASSERT_EQ(facts.gpus.size(), 3U);
    EXPECT_TRUE(facts.kfd.is(true));
    const Gpu& card = at(facts, "0000:03:00.0");
    EXPECT_EQ(card.vendor, "amd");
    EXPECT_TRUE(card.pci_id.is("1002:744c"));
    EXPECT_TRUE(card.revision.is("cc"));
    EXPECT_TRUE(card.gfx.is("gfx1100"));
    EXPECT_EQ(card.gfx.source, "/sys/class/kfd/kfd/topology/nodes/1/properties");
    EXPECT_TRUE(card.kfd_node.is(1));
    EXPECT_TRUE(card.compute_units.is(84));
    EXPECT_TRUE(card.vram_total.is(21458059264));
    EXPECT_TRUE(card.integrated.is(false));
    EXPECT_TRUE(card.render_node.is("/dev/dri/renderD129"));
    EXPECT_TRUE(card.uuid.is("GPU-6f1e2d3c4b5a6979"));
    EXPECT_TRUE(card.atomics.is(true));
    EXPECT_TRUE(card.peer_to_peer.is(true));
    EXPECT_TRUE(at(facts, "0000:07:00.0").peer_to_peer.is(false));
    EXPECT_TRUE(card.temperature.is(41.0));
    EXPECT_EQ(card.link->width, 16);
    ASSERT_EQ(card.bridges.size(), 2U); // nearest first
    EXPECT_EQ(card.bridges[0].address, "0000:02:00.0");
    EXPECT_TRUE(card.bridges[0].routes_atomics.is(true));
    EXPECT_TRUE(card.bridges[0].acs_redirects.is(false));
    EXPECT_EQ(card.bridges[1].address, "0000:00:01.1");
    EXPECT_FALSE(card.bridges[1].routes_atomics.known());

    const Gpu& processor = at(facts, "0000:13:00.0");
    EXPECT_TRUE(processor.gfx.is("gfx1036"));
    EXPECT_TRUE(processor.integrated.is(true));
    EXPECT_EQ(processor.integrated.source, "/sys/bus/pci/devices/0000:13:00.2/vendor");
}

TEST(Host, NoKfdNodeSaysWhy) {
    HostTree tree;
    AmdGpu gpu = navi31(0, 0, "03");
    gpu.pci.device = 0x731f;
    gpu.pci.revision = 0xca;
    gpu.gc_major = 10;
    gpu.gc_minor = 1;
    gpu.gc_revision = 10;
    add_amd_gpu(tree, gpu);
    {
        const Facts facts = facts_of(tree);
        ASSERT_EQ(facts.gpus.size(), 1U);
        EXPECT_FALSE(facts.kfd.known()); // /sys/class does not exist
        EXPECT_TRUE(facts.gpus[0].gfx.is("gfx1010"));
        EXPECT_EQ(facts.gpus[0].kfd_node.unread, "No such file or directory");
    }
    fixtures::add_processor(tree);
    EXPECT_EQ(facts_of(tree).gpus[0].kfd_node.unread, "KFD lists no node for it");
    tree.file("/sys/class/kfd/kfd/topology/nodes/1/gpu_id", "33001\n"); // a device cgroup that hides the node
    tree.file("/sys/class/kfd/kfd/topology/nodes/1/properties", "");
    const Facts facts = facts_of(tree);
    EXPECT_TRUE(facts.kfd.is(true));
    EXPECT_EQ(facts.gpus[0].kfd_node.unread, "not among the readable nodes; node 1: empty");
}

TEST(Host, AMachineWithoutAGpuIsNotAnError) {
    const HostTree tree;
    tree.folder("/sys/class/net");
    tree.folder("/sys/bus/pci/devices");
    tree.file("/proc/sys/kernel/osrelease", "6.8.0-45-generic\n");
    tree.file("/etc/os-release", "ID=ubuntu\nVERSION_ID=\"24.04\"\nPRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\n");
    tree.file("/proc/meminfo",
              "MemTotal:       65842312 kB\nMemAvailable:   60000000 kB\nSwapTotal:             0 kB\n");
    const Facts facts = facts_of(tree);
    EXPECT_TRUE(facts.gpus.empty());
    EXPECT_TRUE(facts.kfd.is(false));
    EXPECT_TRUE(facts.system.kernel.is("6.8.0-45-generic"));
    EXPECT_TRUE(facts.system.os_id.is("ubuntu"));
    EXPECT_TRUE(facts.system.os_version.is("24.04"));
    EXPECT_TRUE(facts.system.memory_total.is(65842312ULL * 1024));
    EXPECT_TRUE(facts.system.swap_total.is(0));
    EXPECT_TRUE(facts.system.container.is("none"));
    EXPECT_TRUE(facts.system.device_nodes.empty());
}

TEST(Host, NothingOfThisProcessIsMixedIntoARoot) {
    const HostTree tree;
    const Facts facts = facts_of(tree);
    EXPECT_EQ(facts.system.groups.unread, "not recorded");
    EXPECT_EQ(facts.system.user_id.unread, "not recorded");
    EXPECT_EQ(facts.system.open_files_limit.unread, "not recorded");
    EXPECT_EQ(facts.system.shared_memory_total.unread, "not recorded");
    EXPECT_EQ(facts.environment.variables.unread, "not recorded");
    EXPECT_FALSE(facts.system.glibc.known());
}

TEST(Host, ARecordedProcessIsRead) {
    const HostTree tree;
    tree.file("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nanna:x:1000:1000::/home/anna:/bin/bash\n");
    tree.file("/etc/group", "root:x:0:\nvideo:x:44:anna\nrender:x:109:anna\nanna:x:1000:\nbroken line\n");
    tree.file("/proc/self/status", "Name:\tbash\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n"
                                   "Groups:\t44 1000 \n");
    tree.file("/proc/self/limits",
              "Limit                     Soft Limit           Hard Limit           Units     \n"
              "Max open files            1024                 1048576              files     \n"
              "Max locked memory         unlimited            unlimited            bytes     \n");
    using namespace std::string_view_literals; // the text holds zero bytes
    tree.file("/proc/self/environ", "HSA_OVERRIDE_GFX_VERSION=10.3.0\0HOME=/home/anna\0"sv);
    const System system = facts_of(tree).system;
    EXPECT_EQ(*system.groups, (std::vector<int>{44, 1000}));
    EXPECT_EQ(*system.group_names, (std::vector<std::string>{"video", "anna"}));
    EXPECT_EQ(*system.account_groups, (std::vector<std::string>{"video", "render", "anna"}));
    EXPECT_TRUE(system.user_name.is("anna"));
    EXPECT_EQ(system.known_groups->at("render"), 109);
    EXPECT_TRUE(system.open_files_limit.is(1024));
    EXPECT_TRUE(system.open_files_hard_limit.is(1048576));
    EXPECT_TRUE(system.locked_memory_limit.is(~std::uint64_t{0}));
    const Facts facts = facts_of(tree);
    EXPECT_EQ(facts.environment.variables->size(), 1U); // HOME does not affect GPU software
    EXPECT_EQ(facts.environment.variables->at("HSA_OVERRIDE_GFX_VERSION"), "10.3.0");
}

TEST(Host, TheLiveHostIsReadWithoutErrors) {
    const Facts facts = collect_facts({.find_pythons = false});
    EXPECT_TRUE(facts.system.kernel.known());
    EXPECT_TRUE(facts.system.groups.known());
    EXPECT_TRUE(facts.system.container.known());
    EXPECT_TRUE(facts.system.memory_total.known());
    EXPECT_TRUE(facts.environment.variables.known());
}

} // namespace
} // namespace rekindle::doctor
