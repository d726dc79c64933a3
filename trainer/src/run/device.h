#pragma once
/// Where the training runs, and what the options of the original system for several GPUs mean here.

#include <rekindle/trainer/config.h>
#include <rekindle/trainer/progress.h>

namespace rekindle::trainer {

/// Says in a sentence each what differs here. Throws Error (usage) when a GPU is demanded or a value is
/// malformed.
void settle_device(const TrainConfig& config, ProgressSink& progress);

} // namespace rekindle::trainer
