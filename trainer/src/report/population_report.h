#pragma once
/// The section of report.html about a population.

#include "predict/trained_run.h"

#include <rekindle/trainer/report.h>

#include <string>

namespace rekindle::trainer {

/// Precondition: run.population. `loss_title` with its unit.
ReportSection population_section(const TrainedRun& run, const std::string& loss_title);

} // namespace rekindle::trainer
