#pragma once
/// Every Python found or named, and what it would train with. Read from files; nothing is imported or run.

#include "python/find_places.h"

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/host.h>

#include <chrono>
#include <vector>

namespace rekindle::doctor {

/// The environments of this host, or of the recorded one below options.root, of which then nothing is taken
/// from this process. The named ones come first, then the active one; at most 40. A file system that does not
/// answer holds it up: the caller who must not wait calls it in a child process. Otherwise it ends after
/// about `budget`: libraries that are not read by then say so, and an environment whose folders are not read
/// has unread problems. Writes nothing, throws nothing for what it finds.
std::vector<PythonEnvironment>
collect_pythons(const HostOptions& options,
                std::chrono::milliseconds budget = std::chrono::milliseconds(700));

/// The same with everything that it depends on given.
std::vector<PythonEnvironment> collect_pythons(const HostTree& tree, const PythonSearch& search,
                                               std::chrono::milliseconds budget);

} // namespace rekindle::doctor
