#pragma once
/// Probes of PyTorch, run by the user's own Python in its own environment.

#include "probes/probe_session.h"

#include <string>

namespace rekindle::doctor {

/// The interpreter that `named` means: a file, an environment's folder, or a name in PATH. "" when there is
/// none.
std::string find_interpreter(const std::string& named);

/// Runs doctor/data/torch_probes.py on every device that PyTorch finds (or on options.python_device), one
/// child per device. If a child dies or hangs, that is the result of the probe in progress, and another
/// child continues after it. After two hangs the remaining probes of a device are skipped.
void run_python_probes(ProbeSession& session);

} // namespace rekindle::doctor
