#pragma once
/// The files of a finished run, from model files to report.html. Formats: docs/formats/run-folder.md.

#include "predict/trained_run.h"

#include <rekindle/trainer/run_folder.h>

namespace rekindle::trainer {

/// Writes model files, metadata, metrics, charts and report; each file as a whole or not at all.
/// best_model_metadata.json is written last: it shows predict that the run is finished.
void write_outputs(const RunFolder& folder, const TrainedRun& run);
/// Writes only what predict and train need of a network that was trained elsewhere: its description,
/// best_model in both formats and, last, its metadata. `run` has no history.
void write_imported_model(const RunFolder& folder, const TrainedRun& run);

} // namespace rekindle::trainer
