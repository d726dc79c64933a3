#pragma once
/// Training that is started again after every failure, without a limit.

#include "found.h"

#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Marks endless loops of a shell around a training command, and services (compose, systemd) that restart a
/// training program always. Loops that wait for something, watch something or count their attempts are not
/// marked.
void mark_restart_loops(std::string_view document, std::vector<Found>& found);

/// Whether a command trains a model, judged by its program and the names of its files.
bool is_training(std::string_view command);

} // namespace rekindle::doctor
