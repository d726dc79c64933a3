#pragma once
/// Child processes that may crash, hang or flood: their end is a result, never this process's trouble.

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The descriptor on which a child writes its results, one line each.
constexpr int result_descriptor = 3;

struct ChildCommand {
    std::string program;                            ///< a path; PATH is not searched
    std::vector<std::string> arguments;             ///< without the program's name
    std::map<std::string, std::string> environment; ///< replaces or joins that of this process
    std::string input;                              ///< its standard input; empty: /dev/null
    std::chrono::milliseconds deadline{5000};
    /// How long a killed child may take to end before it is given up: a large one on a busy machine needs
    /// seconds.
    std::chrono::milliseconds kill_grace{10000};
    bool deadline_restarts = false; ///< at every line of result: the deadline is of one step, not of all
};

struct ChildOutcome {
    enum class End {
        exited,      ///< by itself: exit_status
        signaled,    ///< by a signal that this process did not send
        killed,      ///< over its deadline, or its results were no end of lines
        unkillable,  ///< over its deadline, and still there `kill_grace` after SIGKILL: it waits inside the
                     ///< kernel
        not_started, ///< `why` says the reason
    };
    End end = End::not_started;
    int exit_status = 0;
    int signal = 0;
    double seconds = 0;
    std::string written; ///< the last 4 KiB of standard error and output together, as valid UTF-8
    std::string why;     ///< of not_started, and of killed when it was not the deadline
};

/// Called with the number of the child and one line of its results, without the line's end.
using ResultLine = std::function<void(std::size_t child, std::string_view line)>;

/// Runs all of them at once and returns when the last one is over. Each is the leader of a process group of
/// its own, dumps no core, inherits nothing but descriptors 0 to 3, and dies with this process. A child over
/// its deadline is killed by its pid, and with it what is left of its group; so are stragglers of a child
/// that ended by itself. Other threads may run as long as none changes the environment.
std::vector<ChildOutcome> run_children(std::span<const ChildCommand> commands, const ResultLine& on_line);

/// `bytes` as UTF-8 without control characters other than line ends and tabs; what is neither becomes "?".
std::string printable_text(std::string_view bytes);

} // namespace rekindle::doctor
