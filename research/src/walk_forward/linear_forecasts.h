#pragma once
/// The linear models that networks are compared with.

#include <rekindle/research/fold_data.h>

#include <vector>

namespace rekindle::research {

/// What ridge regression (of a probability: logistic regression) on the fold's training rows says about its
/// test rows, in the unit of the outcome. `fold_rows` are its rows in the block.
std::vector<double> linear_forecasts(const ForecastRows& rows, const Fold& fold, const FoldRows& fold_rows,
                                     const FoldBlock& block);

} // namespace rekindle::research
