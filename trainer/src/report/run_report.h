#pragma once
/// report.html and training_history.png of a run.

#include "predict/trained_run.h"

#include <rekindle/trainer/run_folder.h>

namespace rekindle::trainer {

void write_run_report(const RunFolder& folder, const TrainedRun& run);

} // namespace rekindle::trainer
