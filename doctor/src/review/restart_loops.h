#pragma once
/// Finds training that is restarted after every failure without a limit.

#include "found.h"

#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Marks endless loops of a shell around a training command, and services (compose, systemd) that always
/// restart a training program. Does not mark loops that wait for something, monitor something, or limit the
/// number of attempts.
void mark_restart_loops(std::string_view document, std::vector<Found>& found);

/// Whether a command trains a model, judged by its program and the names of its files.
bool is_training(std::string_view command);

} // namespace rekindle::doctor
