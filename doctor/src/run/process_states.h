#pragma once
/// What running processes are doing, from /proc.

#include <string>
#include <sys/types.h>
#include <vector>

namespace rekindle::doctor {

/// CPU time that the process and all its descendants have used, in seconds.
double cpu_seconds(pid_t root);

/// One line for `root` and for each descendant, with its state, threads and where they wait in the kernel,
/// followed by the Python stack where py-spy is in PATH. Processes that end meanwhile are left out.
std::vector<std::string> process_states(pid_t root);

} // namespace rekindle::doctor
