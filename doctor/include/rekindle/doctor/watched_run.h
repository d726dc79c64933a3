#pragma once
/// Runs a training command in the foreground, passes its output on unchanged, and keeps that output for the
/// diagnosis. Linux only.

#include <rekindle/doctor/diagnosis.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace rekindle::doctor {

struct RunRequest {
    std::vector<std::string> command; ///< the program, which is searched for in PATH, and its arguments
    /// After this time without output, `on_silence` is called, once until the command writes again. 0: never.
    std::chrono::milliseconds silence{0};
    /// Standard output of the command goes to this program's standard error.
    bool output_to_errors = false;
};

/// How a command ended.
struct RunResult {
    std::vector<std::string> command;
    int exit_status = 0; ///< 0 if a signal ended it
    int signal = 0;      ///< the signal that ended it, or 0
    double seconds = 0;

    bool succeeded() const noexcept { return exit_status == 0 && signal == 0; }
    /// Someone ended it: Ctrl-C, kill, or a closed terminal.
    bool interrupted() const noexcept;
    /// As a shell reports it: the exit status, or 128 and the signal.
    int shell_status() const noexcept { return signal != 0 ? 128 + signal : exit_status; }
};

struct WatchedRun {
    RunResult result;
    LogText log; ///< both streams in the order in which they arrived; after a signal, with the line that a
                 ///< shell prints ("Killed")
};

/// A time without output.
struct Silence {
    double seconds = 0;
    double cpu_seconds = 0;             ///< CPU time that the command's processes used in that time
    std::vector<std::string> processes; ///< what each is doing; a Python stack follows its process, indented
};
using OnSilence = std::function<void(const Silence&)>;

/// Returns when the command has ended and what it wrote has been read. The command has this program's
/// standard input, environment, working folder and process group; a stream that is a terminal here is one
/// there. Ctrl-C reaches it as without this program; SIGTERM and SIGHUP are passed on. It is never killed.
/// The signals of the calling thread are blocked meanwhile; no other thread may run.
/// Throws usage_error if the program cannot be started.
WatchedRun run_watched(const RunRequest& request, const OnSilence& on_silence);

/// "exited with status 1", "was ended by SIGKILL".
std::string ending_of(const RunResult& result);

/// The Python interpreter that runs this command: its program, or the one that the program's first line
/// names (torchrun, accelerate). "" if it is neither.
std::string interpreter_of(const std::vector<std::string>& command);

/// The command that runs the same Python program on Vulkan, through torch_rvk.run. Empty if the command has
/// no interpreter_of() or names no program.
std::vector<std::string> command_on_vulkan(const std::vector<std::string>& command);

} // namespace rekindle::doctor
