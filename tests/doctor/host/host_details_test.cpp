#include "host_tree.h"

#include <rekindle/doctor/host.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace rekindle::doctor {
namespace {

using fixtures::AmdGpu;
using fixtures::HostTree;
using Lines = std::vector<std::string>;

AmdGpu card(int node) {
    AmdGpu gpu;
    gpu.pci = {.address = "0000:03:00.0",
               .device = 0x731f,
               .revision = 0xca,
               .parents = "pci0000:00/0000:00:01.1",
               .driver = "amdgpu"};
    gpu.node = node;
    gpu.vram = 6425673728;
    gpu.visible = 268435456;
    gpu.gfx_version = 100100;
    gpu.units = 36;
    gpu.gc_major = 10;
    gpu.gc_minor = 1;
    gpu.gc_revision = 10;
    return gpu;
}

const KernelModule& module_of(const Facts& facts, const std::string& name) {
    const auto& modules = facts.drivers.modules;
    const auto found = std::find_if(modules.begin(), modules.end(),
                                    [&](const KernelModule& module) { return module.name == name; });
    if (found == modules.end())
        throw std::runtime_error("no module " + name);
    return *found;
}

const DeviceNode& node_of(const Facts& facts, const std::string& path) {
    const auto& nodes = facts.system.device_nodes;
    const auto found =
        std::find_if(nodes.begin(), nodes.end(), [&](const DeviceNode& node) { return node.path == path; });
    if (found == nodes.end())
        throw std::runtime_error("no node " + path);
    return *found;
}

TEST(HostDetails, AGpuWithSmallBarNoAtomicsAndAnOldOption) {
    HostTree tree;
    fixtures::add_processor(tree);
    AmdGpu gpu = card(1);
    gpu.link_flags = 1 | 1 << 2 | 1 << 3;
    gpu.firmware = 144;
    add_amd_gpu(tree, gpu);
    tree.folder("/sys/module/nouveau/parameters");
    tree.file("/sys/module/amdgpu/version", "6.14.14\n");
    tree.file("/sys/module/amdgpu/parameters/mtype_local", "1\n");
    tree.file("/sys/module/amdgpu/parameters/lockup_timeout", "\n");
    tree.file("/etc/modprobe.d/amdgpu.conf", "options amdgpu mtype_local=1\n");
    tree.link("/var/lib/dkms/amdgpu/kernel-6.8.0-45-generic-x86_64", "6.14.14-1/6.8.0-45-generic/x86_64");
    tree.file("/var/lib/dkms/amdgpu/6.14.14-1/6.8.0-45-generic/x86_64/module/amdgpu.ko", "");
    tree.file("/var/lib/dpkg/status",
              "Package: linux-firmware-x\nStatus: install ok installed\nVersion: 1\n\n"
              "Package: linux-firmware\nStatus: install ok installed\nArchitecture: all\n"
              "Version: 20240318.git3b128b60-0ubuntu2.4\n\nPackage: z\nVersion: 9\n");
    tree.file("/lib/firmware/amdgpu/navi10_mec.bin", "");

    const Facts facts = facts_of(tree);
    const Gpu& read = facts.gpus.at(0);
    EXPECT_TRUE(read.gfx.is("gfx1010"));
    EXPECT_TRUE(read.atomics.is(false));
    EXPECT_TRUE(read.mec_firmware.is(144));
    EXPECT_TRUE(read.visible_vram_total.is(268435456));
    EXPECT_FALSE(read.peer_to_peer.known()); // one GPU has no peer
    EXPECT_TRUE(read.boot_display.is(true));
    const KernelModule& amdgpu = module_of(facts, "amdgpu");
    EXPECT_TRUE(amdgpu.loaded.is(true));
    EXPECT_TRUE(amdgpu.version.is("6.14.14"));
    EXPECT_EQ(amdgpu.parameters, (std::map<std::string, std::string>{{"mtype_local", "1"}}));
    EXPECT_TRUE(amdgpu.dkms.is("amdgpu/6.14.14-1, 6.8.0-45-generic, x86_64: installed"));
    EXPECT_EQ(facts.drivers.modprobe_options,
              (Lines{"/etc/modprobe.d/amdgpu.conf:1: options amdgpu mtype_local=1"}));
    EXPECT_TRUE(facts.drivers.firmware_package.is("linux-firmware 20240318.git3b128b60-0ubuntu2.4"));
    EXPECT_EQ(*facts.drivers.firmware_files, (Lines{"navi10_mec.bin"}));
}

TEST(HostDetails, AContainerWithoutTheKfdNode) {
    HostTree tree;
    fixtures::add_processor(tree);
    add_amd_gpu(tree, card(1));
    tree.file("/.dockerenv", "");
    tree.file("/proc/sys/kernel/osrelease", "6.8.0-45-generic\n");
    const Facts facts = facts_of(tree);
    EXPECT_TRUE(facts.system.container.is("docker"));
    EXPECT_EQ(facts.system.container.source, "/.dockerenv");
    EXPECT_TRUE(facts.kfd.is(true));
    EXPECT_FALSE(node_of(facts, "/dev/kfd").exists);
    EXPECT_EQ(node_of(facts, "/dev/kfd").usable.unread, "No such file or directory");
    EXPECT_FALSE(node_of(facts, "/dev/dri/renderD128").exists); // in sysfs, but not in /dev
}

TEST(HostDetails, ContainersAreDistinguished) {
    struct Case {
        const char* path;
        const char* content;
        const char* name;
    };
    for (const Case& one :
         {Case{"/run/.containerenv", "engine=\"podman-4.3.1\"\nrootless=1\n", "podman"},
          Case{"/.singularity.d/env/01-base.sh", "", "singularity"},
          Case{"/proc/self/mountinfo",
               "612 611 0:57 / / ro,nodev,relatime - overlay overlay ro,lowerdir=/var/lib/apptainer/mnt/"
               "session/overlay-lowerdir:/var/lib/apptainer/mnt/session/rootfs\n",
               "singularity"},
          Case{"/run/systemd/container", "systemd-nspawn\n", "systemd-nspawn"},
          Case{"/run/systemd/container", "wsl\n", "none"},
          Case{"/proc/1/cgroup", "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-2.scope\n",
               "kubernetes"},
          Case{"/proc/1/cgroup", "1:name=systemd:/lxc/101\n", "lxc"},
          Case{"/proc/1/cgroup", "0::/init.scope\n", "none"}}) {
        HostTree tree;
        tree.file(one.path, one.content);
        EXPECT_TRUE(facts_of(tree).system.container.is(one.name)) << one.path << ": " << one.content;
    }
    HostTree tree;
    tree.file("/proc/self/gid_map", "         0       1000          1\n         1     100000      65536\n");
    EXPECT_TRUE(facts_of(tree).system.rootless.is(true));
    tree.file("/proc/self/gid_map", "         0          0 4294967295\n");
    EXPECT_TRUE(facts_of(tree).system.rootless.is(false));
}

TEST(HostDetails, WindowsSubsystem) {
    HostTree tree;
    tree.folder("/sys/class/net");
    tree.file("/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n");
    tree.file("/dev/dxg", "");
    const Facts facts = facts_of(tree);
    EXPECT_TRUE(facts.system.wsl.is(2));
    EXPECT_TRUE(node_of(facts, "/dev/dxg").exists);
    EXPECT_EQ(node_of(facts, "/dev/dxg").mode.unread, "the recorded file is not a device");
    EXPECT_TRUE(facts.gpus.empty());
    EXPECT_TRUE(facts.drivers.nvidia_library.unread.starts_with(
        "no libcuda.so.1")); // it is looked for because WSL may have it
    tree.file("/proc/sys/kernel/osrelease", "4.4.0-19041-Microsoft\n");
    EXPECT_TRUE(facts_of(tree).system.wsl.is(1));
}

TEST(HostDetails, NvidiaDriverAndLibraryOfDifferentVersions) {
    HostTree tree;
    add_device(tree, {.address = "0000:01:00.0",
                      .vendor = 0x10de,
                      .device = 0x2504,
                      .revision = 0xa1,
                      .parents = "pci0000:00/0000:00:01.0",
                      .driver = "nvidia"});
    tree.file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri "
                                             "May 31 09:35:42 UTC 2024\nGCC version:\n");
    tree.file("/proc/driver/nvidia/gpus/0000:01:00.0/information",
              "Model: \t\t NVIDIA GeForce RTX 3060\nIRQ:   \t\t 142\nGPU UUID: \t "
              "GPU-6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0\n");
    std::filesystem::copy_file("/proc/self/exe", tree.make_parent("/usr/lib64/libcuda.so.535.183.01"));
    tree.link("/usr/lib64/libcuda.so.1", "libcuda.so.535.183.01");

    const Facts facts = facts_of(tree);
    const Gpu& gpu = facts.gpus.at(0);
    EXPECT_EQ(gpu.vendor, "nvidia");
    EXPECT_TRUE(gpu.name.is("NVIDIA GeForce RTX 3060"));
    EXPECT_TRUE(gpu.uuid.is("GPU-6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"));
    EXPECT_TRUE(gpu.integrated.is(false));
    EXPECT_FALSE(gpu.compute_capability.known());
    EXPECT_TRUE(facts.drivers.nvidia_module.is("550.90.07"));
    EXPECT_TRUE(facts.drivers.nvidia_library.is("535.183.01"));
    EXPECT_EQ(facts.drivers.nvidia_library.source, "/usr/lib64/libcuda.so.535.183.01");
    EXPECT_TRUE(facts.drivers.nvidia_cuda.is("12.2")); // programs get the library's version
    EXPECT_TRUE(module_of(facts, "nvidia").loaded.is(false) || !module_of(facts, "nvidia").loaded.known());
}

TEST(HostDetails, HoldersOfMemory) {
    HostTree tree;
    fixtures::add_processor(tree);
    add_amd_gpu(tree, card(1)); // gpu_id 33001
    tree.file("/sys/class/kfd/kfd/proc/4711/vram_33001", "6000000000\n");
    tree.file("/sys/class/kfd/kfd/proc/4711/pasid", "32770\n");
    tree.file("/sys/class/kfd/kfd/proc/4712/vram_33001", "0\n");
    tree.file("/proc/4711/comm", "python3\n");
    const auto client = [](int id, int mebibytes) {
        return fmt::format("drm-driver:\tamdgpu\ndrm-client-id:\t{}\ndrm-pdev:\t0000:03:00.0\n"
                           "drm-memory-vram:\t{} KiB\ndrm-memory-gtt:\t64 KiB\n",
                           id, mebibytes * 1024);
    };
    tree.file("/proc/4711/fdinfo/12", client(7, 10));
    tree.file("/proc/900/comm", "Xorg\n");
    tree.file("/proc/900/fdinfo/20", client(3, 50));
    tree.file("/proc/900/fdinfo/21", client(3, 50)); // the same client twice
    tree.file("/proc/900/fdinfo/22", client(4, 30));
    tree.file("/proc/5000/fdinfo/5", client(7, 10)); // a forked child of 4711 shares its client
    tree.file("/proc/5001/fdinfo/5", "pos:\t0\n");
    tree.folder("/proc/6000"); // its files are not visible

    const Facts facts = facts_of(tree);
    const auto& holders = facts.gpus.at(0).holders;
    ASSERT_EQ(holders.size(), 2U);
    EXPECT_EQ(holders[0].pid, 4711);
    EXPECT_EQ(holders[0].vram, 6000000000U); // not 6 GB + 10 MiB: KFD's number may include DRM's
    EXPECT_EQ(holders[0].gtt, 65536U);
    EXPECT_EQ(holders[0].command, "python3");
    EXPECT_EQ(holders[0].source, "/sys/class/kfd/kfd/proc/4711/vram_33001");
    EXPECT_EQ(holders[1].pid, 900);
    EXPECT_EQ(holders[1].vram, std::uint64_t{80} << 20);
    EXPECT_TRUE(facts.system.hidden_processes.is(1));
}

TEST(HostDetails, OnlyTheLogOfThisBoot) {
    HostTree tree;
    tree.file("/var/log/kern.log",
              "kernel: Linux version 6.7\nkernel: amdgpu: ring gfx timeout, old boot\n"
              "kernel: Linux version 6.8\nkernel: usb 1-1: new\nkernel: amdgpu: GPU reset begin!\n");
    const KernelLog log = facts_of(tree).kernel_log;
    EXPECT_EQ(*log.lines, (Lines{"kernel: amdgpu: GPU reset begin!"}));
    EXPECT_EQ(log.lines.source, "/var/log/kern.log");
    EXPECT_EQ(facts_of(HostTree()).kernel_log.lines.unread, "not recorded");
}

TEST(HostDetails, RocmUserSpace) {
    HostTree tree;
    tree.file("/opt/rocm-6.2.0/.info/version", "6.2.0-66\n");
    tree.link("/opt/rocm", "/opt/rocm-6.2.0");
    tree.link("/opt/rocm-5.7.1", "/nowhere");
    tree.file("/opt/rocm-6.2.0/bin/rocminfo", "");
    tree.file("/opt/rocm-6.2.0/include/rocrand/rocrand_xorwow.h", "");
    tree.file("/usr/include/c++/13/limits", "");
    tree.file("/etc/ld.so.conf.d/10-rocm.conf", "/opt/rocm/lib\n");
    tree.file(
        "/etc/apt/sources.list.d/rocm.list",
        "# comment repo.radeon.com\ndeb [arch=amd64] https://repo.radeon.com/rocm/apt/6.2 jammy main\n");
    const RocmUserSpace rocm = facts_of(tree).rocm;
    ASSERT_EQ(rocm.installations.size(), 1U); // one link is the same installation, the other is broken
    EXPECT_EQ(rocm.installations[0].path, "/opt/rocm-6.2.0");
    EXPECT_TRUE(rocm.installations[0].version.is("6.2.0-66"));
    EXPECT_TRUE(rocm.installations[0].miopen_headers.known());
    EXPECT_EQ(rocm.linker_paths, (Lines{"/etc/ld.so.conf.d/10-rocm.conf: /opt/rocm/lib"}));
    EXPECT_EQ(rocm.tools.at("rocminfo"), "/opt/rocm/bin/rocminfo");
    EXPECT_EQ(rocm.package_sources.size(), 1U);
}

/// The bytes of an environment, with their NULs.
template <std::size_t N>
std::string_view variables(const char (&bytes)[N]) {
    return {bytes, N - 1};
}

std::string icd(std::string_view library) {
    return fmt::format(R"({{"ICD": {{"api_version": "1.3.230", "library_path": "{}"}}}})", library);
}

TEST(HostDetails, VulkanDriversInLoaderOrder) {
    HostTree tree;
    tree.file("/usr/share/vulkan/icd.d/radeon_icd.x86_64.json", icd("libvulkan_radeon.so"));
    tree.file("/usr/share/vulkan/icd.d/broken.json", "{");
    tree.file("/etc/vulkan/icd.d/other_name.json", icd("/opt/amd/driver.so"));
    tree.file("/home/anna/.local/share/vulkan/icd.d/mine.json", icd("./mine.so"));
    tree.file("/proc/self/environ", variables("HOME=/home/anna\0"));
    std::filesystem::copy_file("/proc/self/exe", tree.make_parent("/usr/lib64/libvulkan_radeon.so"));
    tree.file("/usr/share/vulkan/implicit_layer.d/a.json",
              R"({"layer": {"name": "VK_LAYER_A", "disable_environment": {"NO_A": "1"}}})");
    tree.file("/usr/share/vulkan/implicit_layer.d/b.json",
              R"({"layer": {"name": "VK_LAYER_B", "enable_environment": {"WITH_B": "1"}}})");

    Vulkan vulkan = facts_of(tree).vulkan;
    EXPECT_EQ(vulkan.loader.unread, "no libvulkan.so.1 in the linker's folders");
    ASSERT_EQ(vulkan.drivers.size(), 4U);
    EXPECT_EQ(vulkan.drivers[0].manifest, "/etc/vulkan/icd.d/other_name.json");
    EXPECT_TRUE(vulkan.drivers[0].library_exists.is(false));
    EXPECT_EQ(vulkan.drivers[1].library.unread,
              "/home/anna/.local/share/vulkan/icd.d/./mine.so was not found");
    EXPECT_EQ(vulkan.drivers[2].api_version.unread, "not understood");
    EXPECT_TRUE(vulkan.drivers[3].library.is("/usr/lib64/libvulkan_radeon.so"));
    const Lines& missing =
        vulkan.drivers[3].missing_libraries; // the libraries that this program needs: none is in the tree
    EXPECT_NE(std::find(missing.begin(), missing.end(), "libc.so.6"), missing.end());
    EXPECT_EQ(vulkan.layers, (Lines{"VK_LAYER_A (/usr/share/vulkan/implicit_layer.d/a.json)"}));

    tree.file(
        "/proc/self/environ",
        variables("VK_DRIVER_FILES=/usr/share/vulkan/icd.d/radeon_icd.x86_64.json\0NO_A=1\0WITH_B=1\0"));
    vulkan = facts_of(tree).vulkan;
    ASSERT_EQ(vulkan.drivers.size(), 1U);
    EXPECT_EQ(vulkan.layers, (Lines{"VK_LAYER_B (/usr/share/vulkan/implicit_layer.d/b.json)"}));

    tree.file("/proc/self/environ",
              variables("VK_ADD_DRIVER_FILES=/usr/share/vulkan/icd.d/radeon_icd.x86_64.json\0"));
    vulkan = facts_of(tree).vulkan;
    Lines manifests;
    for (const VulkanDriver& driver : vulkan.drivers)
        manifests.push_back(driver.manifest);
    EXPECT_EQ(manifests,
              (Lines{"/usr/share/vulkan/icd.d/radeon_icd.x86_64.json", "/etc/vulkan/icd.d/other_name.json",
                     "/usr/share/vulkan/icd.d/broken.json"})); // no home folder now
    EXPECT_EQ(vulkan.drivers[0].manifest, "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json");
}

TEST(HostDetails, AHostFullOfGarbageIsReadCompletely) {
    HostTree tree;
    const std::string garbage("\xff\0\x01\n\n:::=\x7f\x45\x4c\x46", 14);
    fixtures::add_processor(tree);
    add_amd_gpu(tree, card(1));
    for (const char* path :
         {"/etc/os-release", "/etc/group", "/etc/passwd", "/proc/meminfo", "/proc/cpuinfo",
          "/proc/self/status", "/proc/self/limits", "/proc/self/environ", "/proc/sys/kernel/osrelease",
          "/var/log/dmesg", "/var/lib/dpkg/status", "/sys/class/kfd/kfd/topology/nodes/1/properties",
          "/usr/share/vulkan/icd.d/x.json", "/etc/ld.so.cache", "/etc/modprobe.d/x.conf", "/proc/12/fdinfo/3",
          "/opt/rocm-6/.info/version"})
        tree.file(path, garbage);
    const std::filesystem::path fifo =
        tree.root() / "sys/devices/pci0000:00/0000:00:01.1/0000:03:00.0/gpu_busy_percent";
    std::filesystem::remove(fifo);
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    const Facts facts = facts_of(tree);
    EXPECT_EQ(facts.gpus.at(0).busy_percent.unread, "not a regular file");
    EXPECT_TRUE(facts.gpus[0].gfx.is("gfx1010")); // from ip_discovery
    EXPECT_FALSE(facts.gpus[0].kfd_node.known());
    EXPECT_FALSE(facts.system.memory_total.known());
}

TEST(HostDetails, PythonsAreReadInASeparateProcess) {
    HostTree tree;
    tree.file("/home/anna/venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.10.12\n");
    tree.file("/home/anna/venv/bin/python3", "");
    tree.file("/home/anna/venv/lib/python3.10/site-packages/torch/version.py",
              "__version__ = '2.5.1+rocm6.2'\ncuda = None\nhip = '6.2.41133-dd7f95766'\n");
    tree.file("/home/anna/venv/lib/python3.10/site-packages/torch-2.5.1+rocm6.2.dist-info/METADATA",
              "Metadata-Version: 2.1\nName: torch\nVersion: 2.5.1+rocm6.2\n");
    const Facts facts =
        collect_facts({.root = tree.root(), .pythons = {"/home/anna/venv"}, .find_pythons = false});
    ASSERT_EQ(facts.pythons.size(), 1U);
    EXPECT_TRUE(facts.pythons[0].torch.is("2.5.1+rocm6.2"));
    EXPECT_TRUE(facts.notes.empty());
}

TEST(HostDetails, PermissionsOfADeviceNode) {
    HostTree tree;
    const std::filesystem::path place = tree.make_parent("/dev/kfd");
    if (::mknod(place.c_str(), S_IFCHR | 0660, makedev(1, 3)) != 0)
        GTEST_SKIP() << "this user cannot make device nodes: " << std::strerror(errno);
    ASSERT_EQ(::chown(place.c_str(), 0, 109), 0);
    ASSERT_EQ(::chmod(place.c_str(), 0660), 0);
    tree.file("/etc/group", "render:x:109:\n");
    const DeviceNode node = node_of(facts_of(tree), "/dev/kfd");
    EXPECT_TRUE(node.exists);
    EXPECT_TRUE(node.mode.is(0660));
    EXPECT_TRUE(node.owner.is(0));
    EXPECT_TRUE(node.group.is(109));
    EXPECT_TRUE(node.group_name.is("render"));
    EXPECT_EQ(node.usable.unread, "not recorded");
}

} // namespace
} // namespace rekindle::doctor
