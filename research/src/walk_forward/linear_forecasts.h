#pragma once
/// The linear models that networks are compared with.

#include <rekindle/research/fold_data.h>

#include <vector>

namespace rekindle::research {

/// Fits ridge regression (for probabilities, logistic regression) to the fold's training rows and predicts
/// its test rows in the unit of the outcome. `fold_rows` describes the fold's rows in the block.
std::vector<double> linear_forecasts(const ForecastRows& rows, const Fold& fold, const FoldRows& fold_rows,
                                     const FoldBlock& block);

} // namespace rekindle::research
