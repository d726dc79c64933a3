#include <rekindle/research/walk_forward.h>

#include <algorithm>
#include <limits>

namespace rekindle::research {

namespace {

/// The blocks of a path in chronological order.
std::vector<const BlockForecasts*> blocks_of(std::span<const BlockForecasts> blocks, std::size_t path) {
    std::vector<const BlockForecasts*> found;
    for (const BlockForecasts& block : blocks)
        if (block.path == path)
            found.push_back(&block);
    std::ranges::sort(found, {}, [](const BlockForecasts* block) { return block->rows.begin; });
    return found;
}

bool has_outcome(const ForecastRows& rows, std::size_t row, std::int64_t known_until) {
    return rows.targets.valid[row] != 0 && rows.target_end[row] <= known_until;
}

/// The scored rows of a path, as columns.
struct ScoredRows {
    std::vector<double> predicted, actual, previous, linear, training_mean;
    double share_up = 0; ///< sum over the rows

    void add(const BlockForecasts& block, const ForecastRows& rows, const std::vector<double>& known,
             std::int64_t known_until) {
        for (std::size_t i = 0; i < block.rows.size(); ++i) {
            const std::size_t row = block.rows.begin + i;
            if (!has_outcome(rows, row, known_until))
                continue;
            predicted.push_back(block.mean(i).value);
            actual.push_back(static_cast<double>(rows.targets.values[row]));
            previous.push_back(known[row]);
            linear.push_back(block.linear[i]);
            training_mean.push_back(block.training_mean);
            share_up += block.share_up;
        }
    }
};

} // namespace

std::vector<double> previous_outcomes(const ForecastRows& rows) {
    std::vector<double> previous(rows.known_at.size());
    double latest = 0;
    std::size_t next = 0; // the first row whose outcome is not known yet
    for (std::size_t row = 0; row < previous.size(); ++row) {
        for (; next < row && (rows.targets.valid[next] == 0 || rows.target_end[next] <= rows.known_at[row]);
             ++next)
            if (rows.targets.valid[next] != 0)
                latest = static_cast<double>(rows.targets.values[next]);
        previous[row] = latest;
    }
    return previous;
}

trainer::Evaluation evaluate_path(const ForecastRows& rows, std::span<const BlockForecasts> blocks,
                                  std::size_t path, std::int64_t known_until, std::uint64_t seed) {
    const std::vector<double> known = previous_outcomes(rows);
    ScoredRows scored;
    for (const BlockForecasts* block : blocks_of(blocks, path))
        scored.add(*block, rows, known, known_until);
    if (scored.actual.empty())
        return {};
    const trainer::TargetMeaning& meaning = rows.meaning;
    trainer::EvaluationContext context{meaning.text(), static_cast<std::int64_t>(meaning.horizon), seed,
                                       meaning.previous_text()};
    context.row_noun = "predicted row";
    context.place = "on rows that the networks were not trained on,";
    context.caution = "rekindle backtest shows what is left of it after costs.";
    context.training_mean = scored.training_mean;
    context.directional = meaning.is_directional();
    const double share_up = scored.share_up / static_cast<double>(scored.actual.size());
    if (meaning.is_probability()) {
        context.logistic = scored.linear;
        return trainer::evaluate_probabilities(scored.predicted, scored.actual, scored.previous, share_up,
                                               context);
    }
    context.ridge = scored.linear;
    return trainer::evaluate_returns(scored.predicted, scored.actual, scored.previous, share_up, context);
}

void add_predictions(const ForecastRows& rows, std::span<const BlockForecasts> blocks,
                     std::span<const std::uint64_t> seeds, const std::string& instrument,
                     std::int64_t known_until,
                     const std::function<std::string(const BlockForecasts&)>& fold_name,
                     trainer::PredictionTable& table) {
    std::size_t paths = 0;
    for (const BlockForecasts& block : blocks)
        paths = std::max(paths, block.path + 1);
    const auto add = [&](const BlockForecasts& block, std::size_t i, const std::string& fold,
                         const std::string& seed, const trainer::Forecast& forecast) {
        const std::size_t row = block.rows.begin + i;
        table.known_at.push_back(rows.known_at[row]);
        table.session.push_back(rows.matrix.dates[row]);
        table.instrument.add(instrument);
        table.fold.add(fold);
        table.seed.add(seed);
        table.prediction.push_back(forecast.value);
        table.sigma.push_back(forecast.sigma);
        table.outcome.push_back(has_outcome(rows, row, known_until)
                                    ? static_cast<double>(rows.targets.values[row])
                                    : std::numeric_limits<double>::quiet_NaN());
        table.baseline.push_back(block.training_mean);
    };
    std::vector<std::string> names;
    for (const std::uint64_t seed : seeds)
        names.push_back(std::to_string(seed));
    for (std::size_t path = 0; path < paths; ++path)
        for (const BlockForecasts* block : blocks_of(blocks, path)) {
            const std::string fold = fold_name(*block);
            for (std::size_t i = 0; i < block->rows.size(); ++i) {
                for (std::size_t n = 0; n < block->networks.size(); ++n)
                    if (!block->networks[n].empty())
                        add(*block, i, fold, names[n], block->networks[n][i]);
                if (names.size() > 1)
                    add(*block, i, fold, "mean", block->mean(i));
            }
        }
}

} // namespace rekindle::research
