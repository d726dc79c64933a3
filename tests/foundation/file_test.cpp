#include "temporary_folder.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace rekindle {
namespace {

using test::TemporaryFolder;

std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

TEST(AtomicFile, ReplacesTheFileOnlyOnCommit) {
    const TemporaryFolder folder;
    const auto path = folder / "model.bin";
    write_file_atomically(path, "old");
    AtomicFile file(path);
    file.write("new ");
    file.write("content");
    EXPECT_EQ(file.position(), 11u);
    EXPECT_EQ(read_file(path), "old");
    file.commit();
    EXPECT_EQ(read_file(path), "new content");
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"model.bin"});
}

TEST(AtomicFile, WithoutCommitOnlyTheOldFileRemains) {
    const TemporaryFolder folder;
    write_file_atomically(folder / "model.bin", "old");
    {
        AtomicFile file(folder / "model.bin");
        file.write(std::string(3 << 20, 'x')); // larger than the buffer, so some of it is on disk
    }
    EXPECT_EQ(read_file(folder / "model.bin"), "old");
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"model.bin"});
}

TEST(AtomicFile, WritesLargeContentInOrder) {
    const TemporaryFolder folder;
    std::string content;
    for (int i = 0; content.size() < (5u << 20); ++i)
        content += std::to_string(i) + '\n';
    AtomicFile file(folder / "numbers");
    for (std::string_view rest = content; !rest.empty();) {
        const std::size_t cut = std::min<std::size_t>(rest.size(), 99991);
        file.write(rest.substr(0, cut));
        rest.remove_prefix(cut);
    }
    EXPECT_EQ(file.position(), content.size());
    file.commit();
    EXPECT_EQ(read_file(folder / "numbers"), content);
}

TEST(AtomicFile, HonorsTheUmask) {
    const TemporaryFolder folder;
    const mode_t before = ::umask(027);
    write_file_atomically(folder / "private", "x");
    ::umask(before);
    struct stat status {};
    ASSERT_EQ(::stat((folder / "private").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0640u);
}

TEST(AtomicFile, IgnoresATemporaryFileLeftByAKilledProcess) {
    const TemporaryFolder folder;
    const std::string left = ".model.bin." + std::to_string(::getpid()) + "-0.part";
    std::ofstream(folder / left) << "half";
    write_file_atomically(folder / "model.bin", "whole");
    EXPECT_EQ(read_file(folder / "model.bin"), "whole");
    EXPECT_EQ(read_file(folder / left), "half") << "it may belong to another process";
}

TEST(AtomicFile, SeveralThreadsCanReplaceOneFile) {
    const TemporaryFolder folder;
    const auto path = folder / "shared";
    {
        std::vector<std::jthread> writers;
        for (int writer = 0; writer < 4; ++writer)
            writers.emplace_back([&, writer] {
                for (int round = 0; round < 20; ++round)
                    write_file_atomically(path, std::string(1000, static_cast<char>('a' + writer)));
            });
    }
    const std::string content = read_file(path);
    EXPECT_EQ(content, std::string(1000, content.at(0)));
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"shared"});
}

TEST(AtomicFile, NamesTheFileWhenTheFolderIsMissing) {
    const TemporaryFolder folder;
    try {
        AtomicFile file(folder / "missing" / "model.bin");
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.where(), (folder / "missing" / "model.bin").string());
        EXPECT_EQ(error.message(), "cannot write: No such file or directory");
        EXPECT_EQ(error.status(), ExitStatus::failed);
    }
}

TEST(AtomicFile, AFolderWithTheNameOfTheFileIsAnErrorAndIsKept) {
    const TemporaryFolder folder;
    ensure_directory(folder / "model.bin" / "inner");
    EXPECT_THROW(write_file_atomically(folder / "model.bin", "x"), Error);
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"model.bin"});
}

TEST(FileLock, OnlyOneHoldsIt) {
    const TemporaryFolder folder;
    std::atomic<int> inside = 0, most = 0, entered = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                for (int round = 0; round < 5; ++round) {
                    const FileLock lock(folder / "lock", std::chrono::minutes(5));
                    most = std::max(most.load(), ++inside);
                    ++entered;
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    --inside;
                }
            });
    }
    EXPECT_EQ(most, 1);
    EXPECT_EQ(entered, 20);
}

TEST(FileLock, WaitsNoLongerThanAllowed) {
    const TemporaryFolder folder;
    const FileLock held(folder / "lock", std::chrono::seconds(1));
    try {
        const FileLock second(folder / "lock", std::chrono::milliseconds(20));
        FAIL() << "both hold the lock";
    } catch (const Error& error) {
        EXPECT_EQ(error.where(), (folder / "lock").string());
    }
}

TEST(FileLock, NamesTheFileThatCannotBeCreated) {
    const TemporaryFolder folder;
    try {
        const FileLock lock(folder / "missing" / "lock", std::chrono::seconds(1));
        FAIL() << "the folder does not exist";
    } catch (const Error& error) {
        EXPECT_EQ(error.where(), (folder / "missing" / "lock").string());
    }
}

TEST(EnsureDirectory, CreatesParentsAndAcceptsExistingFolders) {
    const TemporaryFolder folder;
    ensure_directory(folder / "a" / "b");
    ensure_directory(folder / "a" / "b");
    EXPECT_TRUE(std::filesystem::is_directory(folder / "a" / "b"));
    std::ofstream(folder / "file") << "x";
    EXPECT_THROW(ensure_directory(folder / "file" / "below"), Error);
}

TEST(ReadFile, ReadsFilesWithoutASize) {
    EXPECT_NE(read_file("/proc/self/status").find("Name:"), std::string::npos);
    EXPECT_THROW(read_file("/no/such/file"), Error);
}

TEST(MappedFile, ShowsTheBytes) {
    const TemporaryFolder folder;
    write_file_atomically(folder / "bars.csv", "time,open\n");
    MappedFile file(folder / "bars.csv");
    EXPECT_EQ(file.text(), "time,open\n");
    EXPECT_EQ(file.bytes().size(), 10u);
    MappedFile moved(std::move(file));
    EXPECT_EQ(moved.text(), "time,open\n");
    EXPECT_TRUE(
        file.bytes().empty()); // NOLINT(bugprone-use-after-move): the moved-from state is what is tested
}

TEST(MappedFile, EmptyFileGivesAnEmptySpan) {
    const TemporaryFolder folder;
    write_file_atomically(folder / "empty", "");
    const MappedFile file(folder / "empty");
    EXPECT_TRUE(file.bytes().empty());
    file.release(0, 4096);
}

TEST(MappedFile, ErrorSaysWhyTheFileCannotBeMapped) {
    const TemporaryFolder folder;
    const auto refusal = [](const std::filesystem::path& path) {
        try {
            MappedFile file(path);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            return error.render();
        }
        return std::string("no error");
    };
    EXPECT_EQ(refusal(folder / "missing"),
              (folder / "missing").string() + ": cannot open: No such file or directory");
    EXPECT_EQ(refusal(folder.path()), folder.path().string() + ": not a regular file");
    EXPECT_EQ(refusal("/dev/null"), "/dev/null: not a regular file");
}

// The resident pages of this process that belong to files, in KiB.
long resident_file_pages() {
    const std::string status = read_file("/proc/self/status");
    const std::size_t field = status.find("RssFile:");
    return field == std::string::npos ? -1 : std::stol(status.substr(field + 8));
}

TEST(MappedFile, ReleasedPagesLeaveMemoryAndCanBeReadAgain) {
    const TemporaryFolder folder;
    constexpr std::size_t size = 32 << 20;
    write_file_atomically(folder / "large", std::string(size, 'x'));
    const MappedFile file(folder / "large");
    const long before = resident_file_pages();
    EXPECT_EQ(std::count(file.text().begin(), file.text().end(), 'x'), static_cast<std::ptrdiff_t>(size));
    const long read = resident_file_pages();
    file.release(0, size);
    const long after = resident_file_pages();
    EXPECT_GT(read - before, 24L << 10);
    EXPECT_LT(after - before, 8L << 10);
    EXPECT_EQ(file.text().back(), 'x');
    file.release(1, 2);        // less than a page: nothing to release
    file.release(0, size * 2); // beyond the end
    EXPECT_EQ(file.text().front(), 'x');
}

} // namespace
} // namespace rekindle
