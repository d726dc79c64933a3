#pragma once
/// PyTorch tried out by the user's own Python, in its own environment.

#include "probes/probe_session.h"

#include <string>

namespace rekindle::doctor {

/// The interpreter that `named` means: a file, an environment's folder, or a name on PATH. "" when there is
/// none.
std::string find_interpreter(const std::string& named);

/// Runs doctor/data/torch_probes.py on every device that PyTorch finds (or on options.python_device), one
/// child per device. A child that dies or hangs has its probe in progress as a result; another one goes on
/// after it. After two hangs the rest of a device is skipped.
void run_python_probes(ProbeSession& session);

} // namespace rekindle::doctor
