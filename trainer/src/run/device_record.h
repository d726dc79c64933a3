#pragma once
/// device.json of a run folder: where each session of the run trained.

#include "device.h"

#include <filesystem>

namespace rekindle::trainer {

/// Adds this session; says so when the one before trained on another device. A file that cannot be read is
/// begun anew.
void record_device(const std::filesystem::path& run_folder, const PreparedPopulation& prepared, LogSink& log);

} // namespace rekindle::trainer
