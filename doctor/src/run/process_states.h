#pragma once
/// Describes what running processes are doing, from /proc.

#include <string>
#include <sys/types.h>
#include <vector>

namespace rekindle::doctor {

/// CPU time that the process and all its descendants have used, in seconds.
double cpu_seconds(pid_t root);

/// Describes `root` and each descendant in one line: its state, and how many of its threads wait at which
/// place in the kernel. If py-spy is in PATH, the Python stack follows, indented. Skips processes that exit
/// meanwhile.
std::vector<std::string> process_states(pid_t root);

} // namespace rekindle::doctor
