#pragma once
/// Collects the facts and probe options that the command line requests.

#include <rekindle/cli/command_line.h>
#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/probe.h>

namespace rekindle::cli {

/// The facts of this host, or of the one below --root, with the Pythons that --python names and the variables
/// of --pid. If --python is not given, also
/// reads the interpreter or environment `python`, unless it is "". Throws usage_error if the Python of
/// --python, the folder of --root or the process of --pid does not exist.
doctor::Facts read_host(const CommandLine& line, const std::string& python = "");
/// --probe and the first --python.
doctor::ProbeOptions probe_options(const CommandLine& line, const doctor::Facts& facts);

} // namespace rekindle::cli
