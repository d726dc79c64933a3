#pragma once
/// What the command line asks of the doctor's library.

#include <rekindle/cli/command_line.h>
#include <rekindle/doctor/host.h>
#include <rekindle/doctor/probe.h>

namespace rekindle::cli {

/// --root, --python, --pid.
doctor::HostOptions host_options(const CommandLine& line);
/// --probe and the first --python.
doctor::ProbeOptions probe_options(const CommandLine& line);

} // namespace rekindle::cli
