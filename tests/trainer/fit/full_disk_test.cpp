/// A disk that is full and a folder that cannot be written: the file is named and nothing is lost.

#include "../run_fixture.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

/// No file may grow beyond `bytes` bytes; write() then fails, as on a full disk.
class FileSizeLimit {
  public:
    explicit FileSizeLimit(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &old_);
        old_action_ = std::signal(SIGXFSZ, SIG_IGN); // else the signal ends the process
        const rlimit limit{bytes, old_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &old_);
        std::signal(SIGXFSZ, old_action_);
    }

  private:
    rlimit old_{};
    void (*old_action_)(int);
};

/// Root may write everywhere, so the process runs as nobody while this object lives.
class WithoutPrivileges {
  public:
    WithoutPrivileges() { become(65534); }
    WithoutPrivileges(const WithoutPrivileges&) = delete;
    WithoutPrivileges& operator=(const WithoutPrivileges&) = delete;
    ~WithoutPrivileges() { become(0); }

  private:
    void become(uid_t user) const {
        const int result = was_root_ ? ::seteuid(user) : 0;
        EXPECT_EQ(result, 0);
    }
    bool was_root_ = ::geteuid() == 0;
};

/// A file system of `kibibytes` KiB at a folder, unmounted with the object.
class SmallFileSystem {
  public:
    SmallFileSystem(fs::path folder, int kibibytes) : folder_(std::move(folder)) {
        fs::create_directory(folder_);
        const std::string size = "size=" + std::to_string(kibibytes) + "k";
        error_ = ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, size.c_str()) == 0 ? 0 : errno;
    }
    SmallFileSystem(const SmallFileSystem&) = delete;
    SmallFileSystem& operator=(const SmallFileSystem&) = delete;
    ~SmallFileSystem() {
        if (mounted())
            ::umount2(folder_.c_str(), MNT_DETACH);
    }
    bool mounted() const { return error_ == 0; }
    const char* reason() const { return std::strerror(error_); }

  private:
    fs::path folder_;
    int error_;
};

void allow_everybody_to_read(const fs::path& folder) {
    constexpr auto read = fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                          fs::perms::others_read | fs::perms::others_exec;
    fs::permissions(folder, read);
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        fs::permissions(entry.path(), read);
}

class FullDiskTest : public RunTest {
  protected:
    /// The error names a file of the folder, and the run resumes afterwards to the same weights.
    void expect_nothing_lost(const fs::path& run_folder, const std::string& error, const fs::path& whole) {
        EXPECT_TRUE(contains(error, run_folder.string())) << error;
        for (const auto& entry : fs::recursive_directory_iterator(run_folder))
            EXPECT_FALSE(entry.path().extension() == ".part") << entry.path();
        expect_same_weights(resume(run_folder).run_folder, whole, error);
    }
};

TEST_F(FullDiskTest, FailedCheckpointKeepsThePreviousOne) {
    const fs::path whole = run(config()).run_folder;
    const fs::path stopped = interrupted(config(), 2).run_folder;
    fs::path checkpoint;
    for (const auto& entry : fs::directory_iterator(stopped / "checkpoints"))
        checkpoint = entry.path();
    const std::string before = read_file(checkpoint);
    std::string error;
    {
        const FileSizeLimit limit(8192); // config.json fits, a checkpoint does not
        error = error_of([&] { resume(stopped); }, ExitStatus::failed);
    }
    EXPECT_TRUE(contains(error, ".checkpoint")) << error;
    EXPECT_TRUE(contains(error, "cannot write")) << error;
    EXPECT_EQ(read_file(checkpoint), before);
    expect_nothing_lost(stopped, error, whole);
}

TEST_F(FullDiskTest, FailedResultsKeepTheOldOnes) {
    TrainConfig settings = config();
    settings.hidden_layers = {8, 4};
    const fs::path done = run(settings).run_folder;
    settings.output = (folder_ / "whole").string();
    settings.epochs = 5;
    const fs::path whole = run(settings).run_folder;
    const auto checkpoint = fs::directory_iterator(done / "checkpoints")->file_size();
    const auto largest = checkpoint * 6 / 5; // two more epochs make it a little longer
    ASSERT_LT(largest, fs::file_size(done / "report.html")) << "checkpoints must fit, results must not";
    TrainConfig more;
    more.epochs = 5;
    std::string error;
    {
        const FileSizeLimit limit(largest);
        error = error_of([&] { resume(done, more, {"epochs"}); }, ExitStatus::failed);
    }
    EXPECT_FALSE(contains(error, ".checkpoint")) << error;
    EXPECT_TRUE(contains(error, "cannot write")) << error;
    expect_nothing_lost(done, error, whole);
}

TEST_F(FullDiskTest, FailureBeforeTheFirstFileLeavesNothing) {
    std::string error;
    {
        const FileSizeLimit limit(100);
        error = error_of([&] { run(config()); }, ExitStatus::failed);
    }
    EXPECT_TRUE(contains(error, "config.json")) << error;
    EXPECT_FALSE(fs::exists(output()));
}

TEST_F(FullDiskTest, SmallFileSystemFillsUp) {
    const fs::path disk = folder_ / "disk";
    const SmallFileSystem file_system(disk, 60);
    if (!file_system.mounted())
        GTEST_SKIP() << "a small file system cannot be mounted here: " << file_system.reason();
    TrainConfig settings = config();
    settings.output = (disk / "output").string();
    settings.keep_checkpoints = 100;
    settings.checkpoint_interval = 1;
    const std::string error = error_of([&] { run(settings); }, ExitStatus::failed);
    EXPECT_TRUE(contains(error, disk.string())) << error;
    EXPECT_TRUE(contains(error, "Free up space")) << error;
    fs::path stopped;
    for (const auto& entry : fs::directory_iterator(disk / "output"))
        stopped = entry.path();
    EXPECT_TRUE(contains(error, stopped.string())) << error;
    const fs::path copy = folder_ / "copy"; // on a disk with space
    fs::copy(stopped, copy, fs::copy_options::recursive);
    settings.output = (folder_ / "whole").string();
    expect_same_weights(run(settings).run_folder, resume(copy).run_folder, "after a full disk");
}

TEST_F(FullDiskTest, UnwritableFolderIsNamed) {
    const fs::path whole = run(config()).run_folder;
    const fs::path stopped = interrupted(config(), 2).run_folder;
    fs::create_directory(folder_ / "closed");
    allow_everybody_to_read(folder_.path());
    if (::geteuid() != 0) {
        fs::permissions(folder_ / "closed", fs::perms::owner_read | fs::perms::owner_exec);
        fs::permissions(stopped / "checkpoints", fs::perms::owner_read | fs::perms::owner_exec);
    }
    TrainConfig closed = config();
    closed.output = (folder_ / "closed" / "output").string();
    std::string fresh, resuming;
    {
        const WithoutPrivileges nobody;
        fresh = error_of([&] { run(closed); }, ExitStatus::failed);
        resuming = error_of([&] { resume(stopped); }, ExitStatus::failed);
    }
    if (::geteuid() != 0)
        fs::permissions(stopped / "checkpoints", fs::perms::owner_all);
    EXPECT_TRUE(contains(fresh, closed.output)) << fresh;
    EXPECT_TRUE(contains(fresh, "Choose a folder that you can write to")) << fresh;
    expect_nothing_lost(stopped, resuming, whole);
}

TEST_F(FullDiskTest, FileInPlaceOfTheFolderIsNamed) {
    write_file_atomically(output(), "in the way");
    const std::string error = error_of([&] { run(config()); }, ExitStatus::failed);
    EXPECT_TRUE(contains(error, output().string())) << error;
    EXPECT_EQ(read_file(output()), "in the way");
}

} // namespace
} // namespace rekindle::trainer
