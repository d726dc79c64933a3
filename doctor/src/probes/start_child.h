#pragma once
/// fork and exec with everything that run_children promises about a child.

#include "probes/child_command.h"

#include <rekindle/foundation/file.h>

#include <string>
#include <sys/types.h>
#include <vector>

namespace rekindle::doctor {

struct StartedChild {
    pid_t pid = -1;
    FileDescriptor output;  ///< its standard error and output; non-blocking
    FileDescriptor results; ///< its result_descriptor; non-blocking
    std::string error;      ///< why it could not be started; "" when it runs
};

/// The null-terminated array that exec functions take. It points into `strings`.
std::vector<char*> pointers_to(std::vector<std::string>& strings);

/// Returns when the new program runs or cannot. Other threads may run as long as none changes the
/// environment.
StartedChild start_child(const ChildCommand& command);

} // namespace rekindle::doctor
