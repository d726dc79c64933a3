#pragma once
/// The files of a backtest.

#include <rekindle/research/backtest_job.h>
#include <rekindle/trainer/report.h>

namespace rekindle::research {

/// Writes all files into job.output and lists them in outcome.files.
void write_backtest_files(const BacktestJob& job, BacktestOutcome& outcome);

/// The contents of report.html.
trainer::ReportData backtest_report(const BacktestJob& job, const BacktestOutcome& outcome);

/// "2025-02-27T21:00:00Z"; raw labels have no Z.
std::string instant_text(std::int64_t instant, bool raw);

} // namespace rekindle::research
