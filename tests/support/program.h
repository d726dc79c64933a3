#pragma once
/// For tests that use the built program like a user: run it, read its output, kill it.

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace rekindle {

struct ProgramResult {
    int status = -1; ///< exit status; 128 + signal number if a signal ended it
    std::string output;
    std::string error;
};

inline std::string read_whole(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The program under test (the macro REKINDLE_PROGRAM), with its output redirected to files.
class RunningProgram {
  public:
    using Environment = std::vector<std::pair<std::string, std::string>>;

    explicit RunningProgram(const std::vector<std::string>& arguments, const Environment& environment = {},
                            const std::filesystem::path& working_folder = {}) {
        std::string pattern = (std::filesystem::temp_directory_path() / "rekindle-output-XXXXXX").string();
        capture_ = ::mkdtemp(pattern.data());
        child_ = ::fork();
        if (child_ == 0)
            become(arguments, environment, working_folder);
    }
    RunningProgram(const RunningProgram&) = delete;
    RunningProgram& operator=(const RunningProgram&) = delete;
    ~RunningProgram() {
        if (!ended_) {
            ::kill(child_, SIGKILL);
            wait_for_end();
        }
        std::filesystem::remove_all(capture_);
    }

    void send(int signal) const { ::kill(child_, signal); }

    /// Sends SIGKILL after this many seconds. Returns false if the program ended before that.
    bool kill_after(double seconds) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (std::chrono::steady_clock::now() < deadline) {
            if (poll())
                return false;
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        if (poll())
            return false;
        ::kill(child_, SIGKILL);
        wait_for_end();
        return true;
    }

    /// Waits until the condition holds. Returns false if the program ended before that, or after two minutes.
    bool wait_until(const std::function<bool()>& condition) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
        while (!condition()) {
            if (poll() || std::chrono::steady_clock::now() > deadline)
                return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
    }

    const ProgramResult& wait_for_end() {
        int raw = 0;
        while (!ended_) {
            if (::waitpid(child_, &raw, 0) == child_)
                finish(raw);
            else if (errno != EINTR)
                break;
        }
        return result_;
    }

  private:
    bool poll() {
        int raw = 0;
        if (!ended_ && ::waitpid(child_, &raw, WNOHANG) == child_)
            finish(raw);
        return ended_;
    }
    void finish(int raw) {
        ended_ = true;
        result_ = {WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw), read_whole(capture_ / "out"),
                   read_whole(capture_ / "err")};
    }
    [[noreturn]] void become(const std::vector<std::string>& arguments, const Environment& environment,
                             const std::filesystem::path& working_folder) const {
        const int out = ::open((capture_ / "out").c_str(), O_WRONLY | O_CREAT, 0600);
        const int err = ::open((capture_ / "err").c_str(), O_WRONLY | O_CREAT, 0600);
        const int none = ::open("/dev/null", O_RDONLY);
        ::dup2(none, 0);
        ::dup2(out, 1);
        ::dup2(err, 2);
        for (const auto& [name, value] : environment)
            ::setenv(name.c_str(), value.c_str(), 1);
        if (!working_folder.empty() && ::chdir(working_folder.c_str()) != 0)
            ::_exit(126);
        std::vector<std::string> words{REKINDLE_PROGRAM};
        words.insert(words.end(), arguments.begin(), arguments.end());
        std::vector<char*> pointers;
        for (std::string& word : words)
            pointers.push_back(word.data());
        pointers.push_back(nullptr);
        ::execv(REKINDLE_PROGRAM, pointers.data());
        ::_exit(127);
    }

    std::filesystem::path capture_;
    pid_t child_ = -1;
    bool ended_ = false;
    ProgramResult result_;
};

inline ProgramResult run_program(const std::vector<std::string>& arguments,
                                 const RunningProgram::Environment& environment = {},
                                 const std::filesystem::path& working_folder = {}) {
    return RunningProgram(arguments, environment, working_folder).wait_for_end();
}

/// A test with its own folder, which is removed at the end.
class ScratchFolderTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "rekindle-test-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
    }
    void TearDown() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    const std::filesystem::path& folder() const { return folder_; }

  private:
    std::filesystem::path folder_;
};

} // namespace rekindle
