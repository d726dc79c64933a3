#pragma once
/// Child processes that may crash, hang or flood: that becomes a result and never affects this process.

#include "probes/child_command.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

struct ChildOutcome {
    enum class End {
        exited,      ///< on its own: exit_status
        signaled,    ///< by a signal that this process did not send
        killed,      ///< exceeded its deadline, or its results did not end
        unkillable,  ///< exceeded its deadline, and still there `kill_grace` after SIGKILL: it waits inside
                     ///< the kernel
        not_started, ///< `why` gives the reason
    };
    End end = End::not_started;
    int exit_status = 0;
    int signal = 0;
    double seconds = 0;
    std::string written; ///< the last 4 KiB of standard error and output together, as valid UTF-8
    std::string why;     ///< for not_started, and for killed when it was not the deadline
};

/// Called with the number of the child and one line of its results, without the line end.
using ResultLine = std::function<void(std::size_t child, std::string_view line)>;

/// Runs all of them at the same time and returns when the last one has ended. Each leads its own process
/// group, dumps no core, inherits nothing but descriptors 0 to 3, and dies with this process. A child that
/// exceeds its deadline is killed by its pid, together with what is left of its group; so are stragglers of
/// a child that ended on its own. Other threads may run as long as none changes the environment.
std::vector<ChildOutcome> run_children(std::span<const ChildCommand> commands, const ResultLine& on_line);

/// `bytes` as UTF-8 without control characters other than line ends and tabs; anything else becomes "?".
std::string printable_text(std::string_view bytes);

} // namespace rekindle::doctor
