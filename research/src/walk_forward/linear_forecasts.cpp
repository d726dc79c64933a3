#include "walk_forward/linear_forecasts.h"

#include <rekindle/trainer/logistic.h>
#include <rekindle/trainer/ridge.h>

namespace rekindle::research {

std::vector<double> linear_forecasts(const ForecastRows& rows, const Fold& fold, const FoldRows& fold_rows,
                                     const FoldBlock& block) {
    std::vector<float> targets;
    for (const RowRange& range : fold.train)
        targets.insert(targets.end(), rows.targets.values.begin() + static_cast<std::ptrdiff_t>(range.begin),
                       rows.targets.values.begin() + static_cast<std::ptrdiff_t>(range.end));
    const trainer::RidgeRows train{block.inputs(fold_rows.train), rows.matrix.columns(), targets};
    const auto test = block.inputs(fold_rows.test);
    return fold_rows.meaning.is_probability() ? trainer::Logistic::fit(train).predict(test)
                                              : trainer::Ridge::fit(train).predict(test);
}

} // namespace rekindle::research
