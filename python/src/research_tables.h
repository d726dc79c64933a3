#pragma once
/// The results of research/ as tables.

#include "table.h"

#include <rekindle/research/backtest_job.h>
#include <rekindle/research/search.h>
#include <rekindle/trainer/predictions.h>

#include <span>

namespace rekindle::python {

/// The columns of predictions.csv.
Table prediction_table(trainer::PredictionTable table);
/// The columns of trials.csv; NaN for the scores of a setting that diverged.
Table trial_table(std::span<const research::Trial> trials);
/// The columns of trades.csv.
Table trade_table(const research::BacktestOutcome& outcome);
/// The columns of equity.csv.
Table equity_table(const research::BacktestOutcome& outcome);

} // namespace rekindle::python
