#pragma once
/// rekindle doctor --run: runs a training command and explains its failure.

#include "../commands/commands.h"

#include <rekindle/doctor/knowledge.h>

namespace rekindle::cli {

/// Runs the command that follows `--`. If it fails, prints the diagnosis from its output and from this
/// machine as it is then; with --finish, runs it again through torch_rvk.run. Returns the status of the last
/// run, as a shell would.
ExitStatus run_and_diagnose(Context& context, const doctor::Knowledge& knowledge);

} // namespace rekindle::cli
