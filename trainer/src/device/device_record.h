#pragma once
/// device.json of a run folder: where each session of the run trained.

#include <rekindle/trainer/device.h>

#include <filesystem>

namespace rekindle::trainer {

/// Adds this session, and notes when the previous one trained on another device. An unreadable file is
/// replaced.
void record_device(const std::filesystem::path& run_folder, const PreparedPopulation& prepared, LogSink& log);

} // namespace rekindle::trainer
