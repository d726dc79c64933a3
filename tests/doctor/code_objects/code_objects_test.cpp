#include "file_builders.h"

#include <rekindle/doctor/code_objects.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rekindle::doctor {
namespace {

using namespace fixtures;
using Targets = std::vector<std::string>;

std::string with_fatbin(const std::string& section) {
    return make_elf({{".text", "code"}, {".hip_fatbin", section}, {".data", "data"}});
}

std::string padded(std::string text) {
    text.resize((text.size() + 4095) / 4096 * 4096, '\0');
    return text;
}

TEST(GfxNames, KfdVersionsAreDecimalPairsOfHexadecimalDigits) {
    EXPECT_EQ(gfx_of_kfd_version(90010), "gfx90a");
    EXPECT_EQ(gfx_of_kfd_version(90402), "gfx942");
    EXPECT_EQ(gfx_of_kfd_version(90012), "gfx90c");
    EXPECT_EQ(gfx_of_kfd_version(100300), "gfx1030");
    EXPECT_EQ(gfx_of_kfd_version(110501), "gfx1151");
    EXPECT_EQ(gfx_of_kfd_version(80003), "gfx803");
    EXPECT_EQ(gfx_of_kfd_version(0), "");
    EXPECT_EQ(gfx_of_kfd_version(-1), "");
    EXPECT_EQ(gfx_of_kfd_version(91700), "");
}

TEST(GfxNames, ElfFlagsNameTheMachine) {
    EXPECT_EQ(gfx_of_elf_flags(0x53f), "gfx90a");
    EXPECT_EQ(gfx_of_elf_flags(0x36), "gfx1030");
    EXPECT_EQ(gfx_of_elf_flags(0x01000053), "gfx10-3-generic");
    EXPECT_EQ(gfx_of_elf_flags(0x00), "");
    EXPECT_EQ(gfx_of_elf_flags(0xff), "");
}

TEST(CodeObjects, EveryConcatenatedBundleIsRead) {
    const LibraryTargets library = scan(
        with_fatbin(padded(make_hip_bundle({"gfx900:xnack-", "gfx1030"})) + make_hip_bundle({"gfx1100"})));
    EXPECT_EQ(library.targets, (Targets{"gfx1030", "gfx1100", "gfx900:xnack-"}));
    EXPECT_EQ(library.bytes.at("gfx1030"), 300u);
    EXPECT_EQ(library.unread, "");
}

TEST(CodeObjects, BundlesNeedNotBeAligned) {
    const LibraryTargets library =
        scan(with_fatbin(make_hip_bundle({"gfx1030"}, 1) + make_hip_bundle({"gfx1100"}, 8)));
    EXPECT_EQ(library.targets, (Targets{"gfx1030", "gfx1100"}));
}

TEST(CodeObjects, CompressedBundlesOfBothVersionsAndMethods) {
    for (const int version : {2, 3})
        for (const bool zlib : {false, true}) {
            const std::string first =
                make_compressed_bundle(make_hip_bundle({"gfx90a:sramecc+:xnack-"}), version, zlib);
            const std::string second =
                make_compressed_bundle(make_hip_bundle({"gfx1201", "gfx1030"}), version, zlib);
            const std::string file = with_fatbin(padded(first) + second);
            for (const std::uint64_t verified : {std::uint64_t{0}, ScanOptions{}.verified_bytes}) {
                const LibraryTargets library = scan(file, {.verified_bytes = verified});
                EXPECT_EQ(library.targets, (Targets{"gfx1030", "gfx1201", "gfx90a:sramecc+:xnack-"}));
                EXPECT_EQ(library.bytes.at("gfx1201"), 300u);
                EXPECT_EQ(library.unread, "") << version << zlib;
            }
        }
}

TEST(CodeObjects, PlainAndCompressedBundlesMix) {
    const LibraryTargets library = scan(with_fatbin(
        padded(make_hip_bundle({"gfx1030"})) +
        padded(make_compressed_bundle(make_hip_bundle({"gfx1100"}), 3)) + make_hip_bundle({"gfx908"})));
    EXPECT_EQ(library.targets, (Targets{"gfx1030", "gfx1100", "gfx908"}));
}

TEST(CodeObjects, AHeaderLongerThanOneBlockIsReadCompletely) {
    BundleContent entries;
    for (int i = 0; i < 900; ++i) // ids with random-looking text, so that zstd needs several blocks
        entries.emplace_back("hipv4-amdgcn-amd-amdhsa--gfx1030:" +
                                 std::string(200, static_cast<char>('a' + i % 26)) + std::to_string(i * 7919),
                             "x");
    const LibraryTargets library = scan(make_compressed_bundle(make_bundle(entries, 1), 3));
    EXPECT_EQ(library.targets.size(), 900u);
    EXPECT_EQ(library.unread, "");
}

TEST(CodeObjects, ADeadlineEndsTheScanAndIsReported) {
    const std::string hip = make_hip_bundle({"gfx1030"}) + make_hip_bundle({"gfx1100"});
    for (const char* name : {".hip_fatbin", ".nv_fatbin"}) {
        const LibraryTargets library =
            scan(make_elf({{name, hip}}),
                 {.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1)});
        EXPECT_TRUE(library.targets.empty());
        EXPECT_EQ(library.unread, "the time limit was reached before all of it was read");
    }
}

TEST(CodeObjects, AnIdThatItsCodeObjectContradictsIsReported) {
    const std::string bundle =
        make_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1100", make_code_object(flags_of("gfx1030"))}});
    for (const std::string& file : {bundle, make_compressed_bundle(bundle, 3)}) {
        const LibraryTargets library = scan(file);
        EXPECT_EQ(library.targets, (Targets{"gfx1100"}));
        EXPECT_NE(library.unread.find("its own header says gfx1030"), std::string::npos) << library.unread;
    }
    EXPECT_EQ(scan(make_compressed_bundle(bundle, 3), {.verified_bytes = 0}).unread, "");
}

TEST(CodeObjects, ATargetWithoutCodeIsNamedButNotContained) {
    const LibraryTargets library = scan(with_fatbin(make_bundle(
        {{"hipv4-amdgcn-amd-amdhsa--gfx1030", ""}, {"hipv4-amdgcn-amd-amdhsa--gfx1100", "code"}})));
    EXPECT_EQ(library.targets, (Targets{"gfx1100"}));
    EXPECT_EQ(library.bytes.at("gfx1030"), 0u);
}

TEST(CodeObjects, GenericTargetsAndOtherIds) {
    const LibraryTargets library = scan(make_bundle(
        {{"hipv4-amdgcn-amd-amdhsa--gfx10-3-generic", make_code_object(flags_of("gfx10-3-generic"))},
         {"openmp-amdgcn-amd-amdhsa-gfx906", "code"},
         {"hip-spirv64-amd-amdhsa--amdgcnspirv", "code"},
         {"host-x86_64-unknown-linux", "code"}}));
    EXPECT_EQ(library.targets, (Targets{"amdgcnspirv", "gfx10-3-generic", "gfx906"}));
    EXPECT_EQ(library.unread, "");
}

TEST(CodeObjects, ABareCodeObjectIsRecognizedByItsFlags) {
    EXPECT_EQ(scan(make_code_object(flags_of("gfx90a:sramecc+:xnack-"))).targets,
              (Targets{"gfx90a:sramecc+:xnack-"}));
    EXPECT_EQ(scan(make_code_object(0x33f)).targets, (Targets{"gfx90a:xnack+"}));
    EXPECT_EQ(scan(make_code_object(0x83f)).targets, (Targets{"gfx90a:sramecc-"}));
    EXPECT_EQ(scan(make_elf({}, 224, 0x12f, 1)).targets, (Targets{"gfx906:xnack+"}))
        << "code object version 3";
    EXPECT_EQ(scan(make_code_object(0xfe)).targets, (Targets{"amdgpu machine 0xfe"}));
}

TEST(CodeObjects, ALibraryWithoutDeviceCodeHasNoTargets) {
    const LibraryTargets library = scan(make_elf({{".text", "code"}}));
    EXPECT_TRUE(library.targets.empty());
    EXPECT_EQ(library.unread, "");
}

TEST(CodeObjects, CudaMachineCodeAndPtx) {
    const std::string section =
        make_cuda_region({{2, 80, std::string(64, 'a')}, {2, 90, std::string(32, 'b')}}) +
        std::string(8, '\0') + make_cuda_region({{1, 90, "ptx "}, {2, 80, std::string(8, 'c')}});
    const LibraryTargets library = scan(make_elf({{".nv_fatbin", section}}));
    EXPECT_EQ(library.targets, (Targets{"compute_90", "sm_80", "sm_90"}));
    EXPECT_EQ(library.bytes.at("sm_80"), 72u);
    EXPECT_EQ(library.unread, "");
    const LibraryTargets unknown =
        scan(make_elf({{".nv_fatbin", section + "something with another layout"}}));
    EXPECT_EQ(unknown.targets, library.targets);
    EXPECT_NE(unknown.unread.find("unknown layout"), std::string::npos);
}

TEST(CodeObjects, ThePartFollowsFromTheName) {
    const std::string file = make_elf({});
    const auto part = [&](const char* name) { return read_code_objects(bytes_of(file), name).value().part; };
    EXPECT_EQ(part("/x/torch/lib/libtorch_hip.so"), "torch");
    EXPECT_EQ(part("librocblas.so.4"), "rocblas");
    EXPECT_EQ(part("libhipblaslt.so"), "hipblaslt");
    EXPECT_EQ(part("libbitsandbytes_rocm64.so"), "extension");
}

TEST(CodeObjects, VersionOneIsReportedAsUnreadable) {
    std::string file = make_compressed_bundle(make_hip_bundle({"gfx1030"}), 2);
    file[4] = 1;
    const LibraryTargets library = scan(file);
    EXPECT_TRUE(library.targets.empty());
    EXPECT_NE(library.unread.find("version 1 does not say where it ends"), std::string::npos)
        << library.unread;
}

TEST(CodeObjects, OtherFormatsAreErrors) {
    for (const std::string& file : {std::string(), std::string("#!/bin/sh\n"),
                                    std::string("\x7f"
                                                "ELF\x01\x01",
                                                6)})
        EXPECT_FALSE(read_code_objects(bytes_of(file), "made"));
    EXPECT_FALSE(read_code_objects(std::filesystem::path("/nowhere/at/all.so")));
    EXPECT_FALSE(read_code_objects(std::filesystem::path("/")));
}

TEST(CodeObjects, AFileOnDiskGivesTheSameResultAsItsBytes) {
    const ScratchFolder folder;
    const std::string file = with_fatbin(padded(make_hip_bundle({"gfx900:xnack-", "gfx1030"})) +
                                         make_compressed_bundle(make_hip_bundle({"gfx1100"}), 2));
    const LibraryTargets from_file = read_code_objects(folder.add("a folder/libtorch_hip.so", file)).value();
    EXPECT_EQ(from_file.targets, scan(file).targets);
    EXPECT_EQ(from_file.bytes, scan(file).bytes);
    EXPECT_EQ(from_file.part, "torch");
}

} // namespace
} // namespace rekindle::doctor
