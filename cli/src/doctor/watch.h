#pragma once
/// rekindle doctor --watch: readings of the GPUs on the terminal and as CSV.

#include "../commands/commands.h"

#include <rekindle/doctor/knowledge.h>

namespace rekindle::cli {

/// Reads the GPUs until Ctrl-C, until --count readings, or while the command after `--` runs. Returns the
/// shell status of the command; success without one.
ExitStatus watch_gpus(Context& context, const doctor::Knowledge& knowledge);

} // namespace rekindle::cli
