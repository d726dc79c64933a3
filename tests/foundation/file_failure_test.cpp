// How AtomicFile behaves with a full disk, a folder without write permission and kill -9. Each case runs in a
// child process.
#include "child.h"
#include "temporary_folder.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <random>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace rekindle {
namespace {

using test::in_child;
using test::mount_small_disk;
using test::not_possible_here;
using test::TemporaryFolder;

// Returns 0 if writing to the path fails with this reason and the error names the file.
int expect_write_fails(const std::filesystem::path& path, const std::string& content,
                       const std::string& reason) {
    try {
        write_file_atomically(path, content);
    } catch (const Error& error) {
        if (error.where() == path.string() && error.message() == "cannot write: " + reason)
            return 0;
        std::fprintf(stderr, "another error: %s\n", error.render().c_str());
        return 1;
    }
    std::fprintf(stderr, "no error\n");
    return 1;
}

bool is_alone_in_folder(const std::filesystem::path& path) {
    auto entries = std::filesystem::directory_iterator(path.parent_path());
    return entries->path() == path && ++entries == std::filesystem::directory_iterator();
}

TEST(AtomicFileFailure, FullDiskKeepsTheOldFile) {
    const TemporaryFolder folder;
    const int status = in_child([&] {
        if (!mount_small_disk(folder.path()))
            return not_possible_here;
        const auto path = folder / "model.bin";
        write_file_atomically(path, "old");
        if (expect_write_fails(path, std::string(4 << 20, 'x'), "No space left on device") != 0)
            return 1;
        return read_file(path) == "old" && is_alone_in_folder(path) ? 0 : 2;
    });
    if (status == not_possible_here)
        GTEST_SKIP() << "this system does not allow the test to mount a file system";
    EXPECT_EQ(status, 0);
}

TEST(AtomicFileFailure, FileSizeLimitKeepsTheOldFile) {
    const TemporaryFolder folder;
    const auto path = folder / "model.bin";
    write_file_atomically(path, "old");
    EXPECT_EQ(in_child([&] {
                  std::signal(SIGXFSZ, SIG_IGN);
                  const rlimit limit{100000, 100000};
                  ::setrlimit(RLIMIT_FSIZE, &limit);
                  return expect_write_fails(path, std::string(4 << 20, 'x'), "File too large");
              }),
              0);
    EXPECT_EQ(read_file(path), "old");
    EXPECT_TRUE(is_alone_in_folder(path));
}

TEST(AtomicFileFailure, ReadOnlyFolderIsAnError) {
    const TemporaryFolder folder;
    const auto path = folder / "model.bin";
    write_file_atomically(path, "old");
    std::filesystem::permissions(folder.path(), std::filesystem::perms{0555});
    EXPECT_EQ(in_child([&] {
                  constexpr uid_t nobody = 65534; // root may write anywhere
                  if (::geteuid() == 0 && ::setuid(nobody) != 0)
                      return not_possible_here;
                  return expect_write_fails(path, "new", "Permission denied");
              }),
              0);
    EXPECT_EQ(read_file(path), "old");
    EXPECT_TRUE(is_alone_in_folder(path));
    std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
}

ino_t inode_of(const std::filesystem::path& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

TEST(AtomicFileFailure, KillLeavesEitherTheOldOrTheNewFile) {
    using std::chrono::steady_clock;
    const TemporaryFolder folder;
    const auto path = folder / "model.bin";
    constexpr std::size_t size = 1 << 20;
    write_file_atomically(path, std::string(size, 'a'));
    std::mt19937 random(1);
    for (int round = 0; round < 20; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            for (char letter = 'a';; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1))
                write_file_atomically(path, std::string(size, letter));
        }
        // Waits for the first replacement, then kills the child at a random point within the next two.
        const auto begin = steady_clock::now();
        for (const ino_t first = inode_of(path); inode_of(path) == first;) {
            ASSERT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "the child ended and wrote nothing";
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        std::this_thread::sleep_for((steady_clock::now() - begin) *
                                    std::uniform_real_distribution<double>(0, 2)(random));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        const std::string content = read_file(path);
        ASSERT_EQ(content.size(), size);
        ASSERT_EQ(content.find_first_not_of(content[0]), std::string::npos) << "a mix of two versions";
    }
}

} // namespace
} // namespace rekindle
