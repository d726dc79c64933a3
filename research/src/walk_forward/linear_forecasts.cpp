#include "walk_forward/linear_forecasts.h"

#include <rekindle/trainer/logistic.h>
#include <rekindle/trainer/ridge.h>

namespace rekindle::research {

std::vector<double> linear_forecasts(const ForecastRows& rows, const Fold& fold, const FoldRows& fold_rows,
                                     const FoldBlock& block) {
    // The baselines learn each instrument's returns in its own scale, as the network does.
    const bool several = !rows.instruments.empty();
    std::vector<float> targets;
    for (const RowRange& range : fold.train)
        targets.insert(targets.end(), rows.targets.values.begin() + static_cast<std::ptrdiff_t>(range.begin),
                       rows.targets.values.begin() + static_cast<std::ptrdiff_t>(range.end));
    const trainer::RidgeRows train{block.inputs(fold_rows.train), rows.inputs(),
                                   several ? block.targets(fold_rows.train) : targets};
    const auto test = block.inputs(fold_rows.test);
    if (rows.meaning.is_probability())
        return trainer::Logistic::fit(train).predict(test);
    std::vector<double> forecasts = trainer::Ridge::fit(train).predict(test);
    for (std::size_t i = 0; i < forecasts.size() && several; ++i)
        forecasts[i] = block.meaning_of(fold_rows, fold_rows.test.begin + i).outcome(forecasts[i]);
    return forecasts;
}

} // namespace rekindle::research
