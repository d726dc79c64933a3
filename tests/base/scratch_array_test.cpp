// ScratchArray in memory and on disk. Tests of full disks and limits run in a child process.
#include "child.h"
#include "temporary_folder.h"

#include <rekindle/base/scratch_array.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace rekindle {
namespace {

using test::in_child;
using test::mount_small_disk;
using test::not_possible_here;
using test::TemporaryFolder;

// Returns 0 if creating the array fails for this reason and the error has the folder and a hint.
int expect_allocation_fails(const std::filesystem::path& folder, std::size_t bytes,
                            const std::string& reason) {
    try {
        const ScratchArray<std::uint8_t> array(bytes, folder);
    } catch (const Error& error) {
        if (error.where() == folder.string() && error.message().ends_with(": " + reason) &&
            !error.advice().empty())
            return 0;
        std::fprintf(stderr, "another error: %s\n", error.render().c_str());
        return 1;
    }
    std::fprintf(stderr, "no error\n");
    return 1;
}

// The bytes in a line such as "RssAnon: 123 kB" of this process's status.
std::uint64_t status_bytes(const std::string& key) {
    const std::string status = read_file("/proc/self/status");
    return std::stoull(status.substr(status.find(key + ":") + key.size() + 1)) * 1024;
}

/// Resident bytes of mapped files; those of a tmpfs are counted separately.
std::uint64_t resident_file_bytes() {
    return status_bytes("RssFile") + status_bytes("RssShmem");
}

class ScratchArrayTest : public ::testing::TestWithParam<bool> {
  protected:
    std::filesystem::path place() const { return GetParam() ? folder_.path() : std::filesystem::path(); }
    TemporaryFolder folder_;
};

TEST_P(ScratchArrayTest, StartsZeroedAndKeepsWrittenValues) {
    constexpr std::size_t size = 100'003;
    ScratchArray<std::uint32_t> array(size, place());
    ASSERT_EQ(array.size(), size);
    EXPECT_EQ(std::accumulate(array.begin(), array.end(), 0ull), 0u);
    std::iota(array.begin(), array.end(), 7u);
    for (std::size_t block = 0; block < size; block += 10)
        array.release(block, std::min<std::size_t>(10, size - block));
    array.release(0, size);
    array.release(5, 0);
    for (std::size_t i = 0; i < size; ++i)
        ASSERT_EQ(array[i], i + 7);
    array.truncate(3);
    EXPECT_EQ(array, (std::vector<std::uint32_t>{7, 8, 9}));
}

TEST_P(ScratchArrayTest, MoveTransfersTheMemory) {
    ScratchArray<double> from(3, place());
    from[2] = 1.5;
    const double* const address = from.data();
    ScratchArray<double> to(std::move(from));
    EXPECT_EQ(to.data(), address);
    EXPECT_TRUE(from.empty()); // NOLINT(bugprone-use-after-move): the moved-from state is documented
    ScratchArray<double> other(1000, place());
    other = std::move(to);
    EXPECT_EQ(other, (std::vector<double>{0, 0, 1.5}));
    other = {};
    EXPECT_TRUE(other.empty());
}

TEST_P(ScratchArrayTest, LeavesNoFileNameInTheFolder) {
    const ScratchArray<double> array(1000, place());
    const ScratchArray<double> nothing(0, place());
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
    EXPECT_EQ(nothing.begin(), nothing.end());
}

INSTANTIATE_TEST_SUITE_P(Places, ScratchArrayTest, ::testing::Bool(),
                         [](const auto& place) { return place.param ? "OnDisk" : "InMemory"; });

TEST(ScratchArray, OnDiskUsesNoAnonymousMemoryAndReleasesPages) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer keeps its own memory for every page that is touched";
#endif
    constexpr std::size_t size = 32 << 20;
    constexpr std::size_t block = 1000;
    const TemporaryFolder folder;
    const std::uint64_t anonymous = status_bytes("RssAnon");
    const std::uint64_t resident = resident_file_bytes();
    ScratchArray<std::uint8_t> array(size, folder.path());
    std::fill(array.begin(), array.end(), std::uint8_t{1});
    EXPECT_GE(resident_file_bytes(), resident + size / 2);
    EXPECT_LE(status_bytes("RssAnon"), anonymous + size / 8);
    for (std::size_t first = 0; first < size; first += block)
        array.release(first, std::min(block, size - first));
    EXPECT_LE(resident_file_bytes(), resident + size / 8);
    EXPECT_EQ(std::accumulate(array.begin(), array.end(), std::size_t{0}), size);
}

TEST(ScratchArray, FullDiskFailsImmediately) {
    const TemporaryFolder folder;
    const int status = in_child([&] {
        if (!mount_small_disk(folder.path()))
            return not_possible_here;
        if (expect_allocation_fails(folder.path(), 4 << 20, "No space left on device") != 0)
            return 1;
        // The space of the failed allocation is free again.
        ScratchArray<std::uint8_t> fits(128 << 10, folder.path());
        std::fill(fits.begin(), fits.end(), std::uint8_t{1});
        return std::filesystem::is_empty(folder.path()) ? 0 : 2;
    });
    if (status == not_possible_here)
        GTEST_SKIP() << "this system does not allow the test to mount a file system";
    EXPECT_EQ(status, 0);
}

TEST(ScratchArray, FileSizeLimitIsAnErrorNotASignal) {
    const TemporaryFolder folder;
    EXPECT_EQ(in_child([&] {
                  const rlimit limit{100'000, 100'000};
                  ::setrlimit(RLIMIT_FSIZE, &limit);
                  const ScratchArray<std::uint8_t> fits(100'000, folder.path());
                  return expect_allocation_fails(folder.path(), 100'001, "File too large");
              }),
              0);
}

TEST(ScratchArray, MissingFolderIsAnError) {
    const TemporaryFolder folder;
    EXPECT_EQ(expect_allocation_fails(folder / "none", 1, "No such file or directory"), 0);
}

TEST(ScratchArray, ImpossibleSizeThrows) {
    EXPECT_THROW(ScratchArray<double>(std::size_t{1} << 61, std::filesystem::path()),
                 std::bad_array_new_length);
}

} // namespace
} // namespace rekindle
