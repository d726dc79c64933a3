/// Malicious or damaged files: the scanner says what is wrong, keeps what it could read, and neither
/// crashes nor runs for long.

#include "file_builders.h"

#include <rekindle/base/philox.h>
#include <rekindle/doctor/code_objects.h>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <fstream>
#include <set>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace rekindle::doctor {
namespace {

using namespace fixtures;
using Targets = std::vector<std::string>;

template <class T>
void put(std::string& file, std::size_t at, T value) {
    file.replace(at, sizeof value, little_endian(value));
}

std::vector<std::string> samples() {
    const std::string bundles = make_hip_bundle({"gfx1030", "gfx900:xnack-"}, 16) +
                                make_compressed_bundle(make_hip_bundle({"gfx1100"}, 16), 2) +
                                make_compressed_bundle(make_hip_bundle({"gfx1201"}, 16), 3, true);
    return {
        make_elf({{".hip_fatbin", bundles}}),
        bundles,
        make_elf({{".nv_fatbin", make_cuda_region({{2, 80, "code"}, {1, 90, "text"}})}}),
        make_library({"libc.so.6"}, "libx.so", "$ORIGIN",
                     {{".rocm_kpack_ref", make_kpack_reference("lib/x", {"../.kpack/x_@GFXARCH@.kpack"})}}),
        make_kpack({{"gfx1030", "gfx1100"}, {{"lib/x", {{"gfx1030", "code"}, {"gfx1100", "more code"}}}}}),
        make_code_object(0x36)};
}

TEST(HostileFiles, ABundleThatClaimsTooMuchKeepsWhatIsThere) {
    std::string bundle = make_hip_bundle({"gfx1030", "gfx1100"});
    put(bundle, 24 + 8 + 24 + 30 + 8, std::uint64_t{1} << 60); // size of the first device entry
    const LibraryTargets library = scan(bundle);
    EXPECT_EQ(library.targets, (Targets{"gfx1100"}));
    EXPECT_NE(library.unread.find("lies outside"), std::string::npos) << library.unread;
}

TEST(HostileFiles, ABundleAfterADamagedOneIsFound) {
    std::string first = make_hip_bundle({"gfx1030"}, 16);
    put(first, 24, std::uint64_t{1} << 40); // number of entries
    const LibraryTargets library =
        scan(make_elf({{".hip_fatbin", first + make_hip_bundle({"gfx1100"}, 16)}}));
    EXPECT_EQ(library.targets, (Targets{"gfx1100"}));
    EXPECT_NE(library.unread.find("claims 1099511627776 entries"), std::string::npos) << library.unread;
}

TEST(HostileFiles, ACompressedBundleThatClaimsTooMuchIsReported) {
    std::string first = make_compressed_bundle(make_hip_bundle({"gfx1030"}), 3);
    put(first, 8, UINT64_MAX);
    const LibraryTargets library = scan(first + make_compressed_bundle(make_hip_bundle({"gfx1100"}), 3));
    EXPECT_EQ(library.targets, (Targets{"gfx1100"}));
    EXPECT_NE(library.unread.find("but only"), std::string::npos) << library.unread;
}

TEST(HostileFiles, ACompressedBombCostsLittle) {
    // Four gigabytes of zeros after a bundle's header, as it claims; only the beginning is requested.
    const std::string bundle = make_hip_bundle({"gfx1030"}, 16);
    std::string bomb = make_compressed_bundle(bundle + std::string(32 << 20, '\0'), 3);
    put(bomb, 16, std::uint64_t{1} << 32);
    EXPECT_EQ(scan(bomb).targets, (Targets{"gfx1030"}));
}

TEST(HostileFiles, ABombInTheHeaderItselfIsAbandoned) {
    std::string header = "__CLANG_OFFLOAD_BUNDLE__" + little_endian<std::uint64_t>(4096);
    for (int i = 0; i < 4000; ++i)
        header += little_endian(std::uint64_t{0}) + little_endian(std::uint64_t{0}) +
                  little_endian<std::uint64_t>(1024) + std::string(1024, 'x');
    const LibraryTargets library = scan(make_compressed_bundle(header, 3));
    EXPECT_TRUE(library.targets.empty());
    EXPECT_NE(library.unread.find("header of a bundle is cut off"), std::string::npos) << library.unread;
}

TEST(HostileFiles, SectionsOutsideTheFile) {
    std::string file = make_elf({{".hip_fatbin", make_hip_bundle({"gfx1030"})}});
    std::string no_table = file;
    put(no_table, 40, std::uint64_t{1} << 62);
    EXPECT_FALSE(read_code_objects(bytes_of(no_table), "made"));
    std::string many = file;
    put(many, 60, std::uint16_t{0xffff});
    const Expected<LibraryTargets> claims = read_code_objects(bytes_of(many), "made");
    ASSERT_FALSE(claims);
    EXPECT_NE(claims.error().render().find("65535 sections"), std::string::npos) << claims.error().render();
}

TEST(HostileFiles, TruncatedAtEveryByte) {
    for (const std::string& file : samples()) {
        const Expected<LibraryTargets> whole = read_code_objects(bytes_of(file), "whole");
        ASSERT_TRUE(whole);
        const std::set<std::string> known(whole->targets.begin(), whole->targets.end());
        for (std::size_t size = 0; size < file.size(); ++size) {
            const Expected<LibraryTargets> part = read_code_objects(bytes_of(file.substr(0, size)), "part");
            if (!part) {
                EXPECT_FALSE(part.error().message().empty());
                continue;
            }
            for (const std::string& target : part->targets)
                EXPECT_TRUE(known.contains(target)) << target << " of the first " << size << " bytes";
        }
    }
}

#ifdef __SANITIZE_ADDRESS__
constexpr int mutation_rounds = 150; // each takes thirty times as long
#else
constexpr int mutation_rounds = 1500;
#endif

TEST(HostileFiles, ChangedBytes) {
    PhiloxStream random(1, RandomPurpose::shuffle);
    for (const std::string& file : samples())
        for (int i = 0; i < mutation_rounds; ++i) {
            std::string changed = file;
            for (std::uint32_t changes = 1 + random.next_below(4); changes > 0; --changes)
                changed[random.next_below(static_cast<std::uint32_t>(changed.size()))] =
                    static_cast<char>(random.next_below(256));
            const Expected<LibraryTargets> library = read_code_objects(bytes_of(changed), "changed");
            if (library)
                EXPECT_LT(library->unread.size(), 20'000u);
            else
                EXPECT_FALSE(library.error().message().empty());
        }
}

TEST(HostileFiles, ASectionOfManyGigabytesOfZerosIsAbandoned) {
    const ScratchFolder folder;
    std::string file = make_elf({{".hip_fatbin", make_hip_bundle({"gfx1030"})}});
    const std::size_t section_table = file.size() - 3 * 64;
    put(file, section_table + 64 + 32, std::uint64_t{1} << 40); // size of .hip_fatbin
    const auto path = folder.add("sparse.so", file);
    std::filesystem::resize_file(path, std::uintmax_t{1} << 39);
    const LibraryTargets library = read_code_objects(path).value();
    EXPECT_EQ(library.targets, (Targets{"gfx1030"}));
    EXPECT_NE(library.unread, "");
}

TEST(HostileFiles, APipeDoesNotBlock) {
    const ScratchFolder folder;
    const auto path = folder.path() / "pipe.so";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const Expected<LibraryTargets> library = read_code_objects(path);
    ASSERT_FALSE(library);
    EXPECT_EQ(library.error().message(), "not a regular file");
}

} // namespace
} // namespace rekindle::doctor
