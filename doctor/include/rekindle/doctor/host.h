#pragma once
/// Reads a Linux host. Collectors never judge, never import, never run anything, never write.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/host_options.h>

namespace rekindle::doctor {

/// Reads everything, in a fraction of a second: a file that blocks is skipped after a deadline, and the
/// fact says so.
Facts collect_facts(const HostOptions& options);

} // namespace rekindle::doctor
