#pragma once
#include "predict/trained_run.h"

#include <rekindle/trainer/report.h>

namespace rekindle::trainer {

/// The report's section about several instruments: their data and their scores.
ReportSection instruments_section(const TrainedRun& run);

} // namespace rekindle::trainer
