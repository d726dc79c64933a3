#pragma once
/// Every Python that is found or named, and what it would train with. Read from files; nothing is imported
/// or run.

#include "python/find_places.h"

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/host_options.h>

#include <chrono>
#include <vector>

namespace rekindle::doctor {

/// The environments of this host, or of the recorded one below options.root (then nothing is taken from
/// this process). The named ones come first, then the active one; at most 40. A file system that does not
/// respond blocks it, so a caller that must not wait calls it in a child process. Otherwise it ends after
/// about `budget`: libraries that were not read by then say so, and an environment whose folders were not
/// read has unread problems. Writes nothing and does not throw for anything that it finds.
std::vector<PythonEnvironment>
collect_pythons(const HostOptions& options,
                std::chrono::milliseconds budget = std::chrono::milliseconds(700));

/// The same with everything that it depends on as arguments.
std::vector<PythonEnvironment> collect_pythons(const HostTree& tree, const PythonSearch& search,
                                               std::chrono::milliseconds budget);

} // namespace rekindle::doctor
