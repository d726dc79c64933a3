#pragma once
/// How a child process is started.

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace rekindle::doctor {

/// The descriptor on which a child writes its results, one per line.
constexpr int result_descriptor = 3;

struct ChildCommand {
    std::string program;                            ///< a path; PATH is not searched
    std::vector<std::string> arguments;             ///< without the program's name
    std::map<std::string, std::string> environment; ///< replaces or extends the environment of this process
    std::string input;                              ///< its standard input; empty: /dev/null
    std::chrono::milliseconds deadline{5000};
    /// How long a killed child may take to end before it is abandoned: a large one on a busy machine needs
    /// seconds.
    std::chrono::milliseconds kill_grace{10000};
    /// At every line of result: the deadline is per step, not for all of them.
    bool deadline_restarts = false;
};

} // namespace rekindle::doctor
