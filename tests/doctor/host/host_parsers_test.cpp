#include "host_parsers.h"

#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>

#include <filesystem>

namespace rekindle::doctor {
namespace {

using Lines = std::vector<std::string>;

/// The bytes of this test program, as a library to read.
std::string own_program() {
    return read_file("/proc/self/exe");
}

ReadBytes reader_of(const std::string& bytes) {
    return [&bytes](std::uint64_t offset, std::size_t size) {
        return offset < bytes.size() ? bytes.substr(offset, size) : std::string();
    };
}

TEST(HostParsers, KfdProperties) {
    const auto properties = parse_kfd_properties("simd_count 168\ngfx_target_version 110000\nname navi31\n"
                                                 "unique_id 18446744073709551615\nbroken\n 7\nx -1\n");
    EXPECT_EQ(properties.size(), 3U);
    EXPECT_EQ(properties.at("gfx_target_version"), 110000U);
    EXPECT_EQ(properties.at("unique_id"), 18446744073709551615U);
}

TEST(HostParsers, MemoryOfADrmClient) {
    const DrmClient client =
        parse_fdinfo("pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-client-id:\t42\n"
                     "drm-pdev:\t0000:03:00.0\ndrm-memory-vram:\t1048576 KiB\n"
                     "drm-memory-gtt: \t2 MiB\ndrm-memory-cpu: \t0 KiB\n");
    EXPECT_EQ(client.address, "0000:03:00.0");
    EXPECT_EQ(client.id, 42U);
    EXPECT_EQ(client.vram, std::uint64_t{1} << 30);
    EXPECT_EQ(client.gtt, std::uint64_t{2} << 20);
    EXPECT_EQ(parse_fdinfo("drm-pdev: 0000:03:00.0\ndrm-resident-vram: 5 KiB\n").vram,
              5120U); // Linux 6.14 and later
    EXPECT_EQ(parse_fdinfo("drm-memory-vram: 99999999999999999999 KiB\n").vram, 0U);
    EXPECT_EQ(parse_fdinfo("drm-memory-vram: 18014398509481985 KiB\n").vram, 0U); // overflows in bytes
    EXPECT_TRUE(parse_fdinfo("pos: 0\nflags: 0\n").address.empty());
}

TEST(HostParsers, KernelRecordsBecomeDmesgLines) {
    const Lines lines = parse_kernel_records("6,1234,5678901,-;amdgpu 0000:03:00.0: ring gfx_0.0.0 timeout\n"
                                             " SUBSYSTEM=pci\n DEVICE=+pci:0000:03:00.0\n"
                                             "4,1235,12345678901,-,caller=T1;with a tab\\x09and \\xzz\n"
                                             "no record\n");
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0], "[    5.678901] amdgpu 0000:03:00.0: ring gfx_0.0.0 timeout");
    EXPECT_EQ(lines[1], "[12345.678901] with a tab and \\xzz");
}

TEST(HostParsers, LinesAboutGpusAreKept) {
    Gpu gpu;
    gpu.address = "0000:03:00.0";
    gpu.bridges.emplace_back().address = "0000:00:01.1";
    const Lines kept{"kfd kfd: amdgpu: skipped device 1002:731f, PCI rejects atomics 145<0",
                     "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.",
                     "pci 0000:03:00.0: BAR 0: can't assign mem",
                     "pcieport 0000:00:01.1: AER: Corrected error received",
                     "Out of memory: Killed process 4711 (python3)",
                     "AMD-Vi: Event logged [IO_PAGE_FAULT]"};
    Lines all = kept;
    all.insert(all.begin() + 2, "usb 1-1: new high-speed USB device");
    all.emplace_back("EXT4-fs (sda1): mounted filesystem");
    EXPECT_EQ(graphics_lines(all, {gpu}), kept);
    EXPECT_EQ(graphics_lines(Lines(5000, "amdgpu"), {}).size(), 2000U);
}

TEST(HostParsers, ModprobeOptionsOfGraphicsModules) {
    const Lines found =
        parse_modprobe("# options amdgpu x=1\n\noptions  amdgpu mtype_local=1\nblacklist nouveau\r\n"
                       "options snd_hda_intel power_save=1\noptions nvidia-drm modeset=1\n",
                       "/etc/modprobe.d/a.conf");
    EXPECT_EQ(found, (Lines{"/etc/modprobe.d/a.conf:3: options  amdgpu mtype_local=1",
                            "/etc/modprobe.d/a.conf:4: blacklist nouveau",
                            "/etc/modprobe.d/a.conf:6: options nvidia-drm modeset=1"}));
}

TEST(HostParsers, VulkanManifests) {
    const auto driver = parse_vulkan_driver(
        R"({"ICD": {"api_version": "1.3.230", "library_path": "libvulkan_radeon.so"}, "file_format_version": "1.0.0"})");
    ASSERT_TRUE(driver);
    EXPECT_EQ(driver->library, "libvulkan_radeon.so");
    EXPECT_EQ(driver->api_version, "1.3.230");
    for (const char* bad :
         {"", "{", "[]", "{\"ICD\": 3}", "{\"ICD\": {\"library_path\": 7}}", "{\"layer\": {}}"})
        EXPECT_FALSE(parse_vulkan_driver(bad)) << bad;
    EXPECT_FALSE(parse_vulkan_driver(std::string(100000, '[')));
    const auto layers =
        parse_vulkan_layers(R"({"layers": [{"name": "A", "enable_environment": {"X": "1"}}, {"name": "B"}],
        "layer": {"name": "C", "disable_environment": {"NO_C": "1"}}})");
    ASSERT_EQ(layers.size(), 3U);
    EXPECT_EQ(layers[0].name, "C");
    EXPECT_EQ(layers[0].disable.count("NO_C"), 1U);
    EXPECT_EQ(layers[1].enable.at("X"), "1");
}

TEST(HostParsers, NvidiaVersions) {
    EXPECT_EQ(nvidia_version(
                  "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024"),
              "550.90.07");
    EXPECT_EQ(
        nvidia_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build"),
        "565.57.01");
    EXPECT_EQ(nvidia_version("1"), "");
    EXPECT_EQ(nvidia_version("no version at all"), "");
    EXPECT_TRUE(newest_cuda({"550.90.07", ""}).is("12.4"));
    EXPECT_TRUE(newest_cuda({"470.239.06", ""}).is("11.4"));
    EXPECT_FALSE(newest_cuda({"999.1", ""}).known());
}

TEST(HostParsers, GcVersions) {
    EXPECT_EQ(gfx_of_gc_version(10, 3, 6), "gfx1036");
    EXPECT_EQ(gfx_of_gc_version(10, 1, 10), "gfx1010");
    EXPECT_EQ(gfx_of_gc_version(9, 4, 3), "gfx942");
    EXPECT_EQ(gfx_of_gc_version(13, 0, 0), "");
}

TEST(HostParsers, ConfigSpaceWithoutRootIsShort) {
    std::string bytes(64, '\0');
    EXPECT_NE(parse_pci_config(bytes, "x").routes_atomics.unread.find("Permission denied"),
              std::string::npos);
    EXPECT_EQ(parse_pci_config(std::string(4096, '\xff'), "x").routes_atomics.unread,
              "the device does not respond");
    bytes.resize(4096);
    EXPECT_TRUE(parse_pci_config(bytes, "x").routes_atomics.is(false)); // no PCI Express capability
    bytes[0x34] = 0x40;
    bytes[0x41] = 0x40; // a list that points to itself
    EXPECT_TRUE(parse_pci_config(bytes, "x").routes_atomics.is(false));
}

TEST(HostParsers, ReadsTheLibrariesThatAProgramNeeds) {
    const std::string program = own_program();
    const auto dynamic = parse_elf_dynamic(reader_of(program));
    ASSERT_TRUE(dynamic);
    EXPECT_EQ(dynamic->bits, 64);
    EXPECT_NE(std::find(dynamic->needed.begin(), dynamic->needed.end(), "libc.so.6"), dynamic->needed.end());
    EXPECT_FALSE(parse_elf_dynamic(reader_of("no library")));
    EXPECT_FALSE(parse_elf_dynamic(reader_of(program.substr(0, 40))));
}

TEST(HostParsers, DamagedFilesDoNotCrash) {
    const std::string program = own_program().substr(0, 4096);
    const Lines originals{
        "simd_count 168\ngfx_target_version 110000\n",
        "drm-pdev:\t0000:03:00.0\ndrm-client-id: 1\ndrm-memory-vram:\t1048576 KiB\n",
        "6,1234,5678901,-;amdgpu: \\x41\\x0a\n K=V\n",
        "options amdgpu mtype_local=1\nblacklist nouveau\n",
        R"({"ICD": {"api_version": "1.3.230", "library_path": "x.so"}, "layers": [{"name": "A", "enable_environment": {}}]})",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri\n",
        std::string("glibc-ld.so.cache1.1\x02\0\0\0\x40\0\0\0", 28) + std::string(100, '\0') + "libc.so.6",
        program};
    std::uint64_t state = 1;
    const auto next = [&state] {
        return state = state * 6364136223846793005U + 1442695040888963407U, state >> 33;
    };
    std::size_t found = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string text = originals[next() % originals.size()];
        for (std::uint64_t changes = next() % 8; changes > 0; --changes)
            text[next() % text.size()] = static_cast<char>(next());
        text.resize(next() % (text.size() + 1));
        found += fixtures::parse_with_all(text);
    }
    EXPECT_GT(found, 1000U); // most damage is small: the parsers found something in their texts
}

} // namespace
} // namespace rekindle::doctor
