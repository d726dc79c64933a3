#pragma once
/// rekindle doctor --watch: shows readings of the GPUs on the terminal and writes them as CSV.

#include "../commands/commands.h"

#include <rekindle/doctor/knowledge.h>

namespace rekindle::cli {

/// Reads the GPUs until Ctrl-C, until --count readings are taken, or until the command after `--` ends.
/// Returns the command's exit status, or 128 plus the number of the signal that ended it. Without a command,
/// returns success, or `failed` if there is no GPU.
ExitStatus watch_gpus(Context& context, const doctor::Knowledge& knowledge);

} // namespace rekindle::cli
