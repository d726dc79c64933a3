#pragma once
/// rekindle doctor --run: runs a training command and explains its failure.

#include "../commands/commands.h"

#include <rekindle/doctor/knowledge.h>

namespace rekindle::cli {

/// Runs the command that follows `--`. If it fails, diagnoses its output together with the current facts of
/// this machine and prints the report; with --finish, then runs it again through torch_rvk.run. Returns the
/// shell status of the last run.
ExitStatus run_and_diagnose(Context& context, const doctor::Knowledge& knowledge);

} // namespace rekindle::cli
