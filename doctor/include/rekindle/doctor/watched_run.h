#pragma once
/// Runs a training command in the foreground, copies its output to this program's output, and keeps a copy
/// for the diagnosis. Linux only.

#include <rekindle/doctor/diagnosis.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace rekindle::doctor {

struct RunRequest {
    std::vector<std::string> command; ///< the program, looked up in PATH, and its arguments
    /// run_watched() calls `on_silence` after this time without output, once per silence. 0: never.
    std::chrono::milliseconds silence{0};
    /// Copies the command's standard output to this program's standard error.
    bool output_to_errors = false;
    /// Time between calls of `on_tick`; run_watched() makes the first call when the command has started. 0:
    /// never.
    std::chrono::milliseconds tick{0};
    std::function<void()> on_tick = {};
    std::function<void()> before_output = {}; ///< called whenever output of the command is about to be copied
};

/// How a command ended.
struct RunResult {
    std::vector<std::string> command;
    int exit_status = 0; ///< 0 if a signal ended it
    int signal = 0;      ///< the signal that ended it, or 0
    double seconds = 0;

    bool succeeded() const noexcept { return exit_status == 0 && signal == 0; }
    /// Whether SIGINT, SIGQUIT, SIGTERM or SIGHUP ended the command: a person or a job manager stopped it.
    bool interrupted() const noexcept;
    /// The status that a shell reports: the exit status, or 128 plus the signal number.
    int shell_status() const noexcept { return signal != 0 ? 128 + signal : exit_status; }
};

struct WatchedRun {
    RunResult result;
    LogText log; ///< both streams, in order of arrival. If a signal ended the command, the last line is what
                 ///< a shell would print ("Killed").
};

/// A period in which the command wrote nothing.
struct Silence {
    double seconds = 0;
    double cpu_seconds = 0;             ///< CPU time that the command's processes used in this period
    std::vector<std::string> processes; ///< one line for each process, followed by its Python stack, if known
};
using OnSilence = std::function<void(const Silence&)>;

/// Runs the command to its end. The command inherits standard input, environment, working folder and process
/// group, and gets a terminal wherever this program has one. Ctrl-C reaches it directly; this function
/// forwards SIGTERM and SIGHUP, and never kills it. Blocks signals in the calling thread, so the process must
/// have no other thread. Throws usage_error if the program cannot be started.
WatchedRun run_watched(const RunRequest& request, const OnSilence& on_silence);

/// "exited with status 1", "was ended by SIGKILL".
std::string ending_of(const RunResult& result);

/// Returns the Python interpreter that runs this command: the program itself, or the interpreter in its
/// `#!` line (torchrun, accelerate). "" if it is not a Python program.
std::string interpreter_of(const std::vector<std::string>& command);

/// Returns the command that runs the same Python program through torch_rvk.run. Empty if the command does not
/// run Python, or starts an interpreter without a script, -m or -c.
std::vector<std::string> command_on_vulkan(const std::vector<std::string>& command);

} // namespace rekindle::doctor
