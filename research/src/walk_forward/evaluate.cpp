#include <rekindle/research/walk_forward.h>

#include <algorithm>
#include <cmath>
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

/// Scored rows, as columns.
struct ScoredRows {
    std::vector<double> predicted, actual, previous, linear, training_mean, shares_up;
    std::vector<std::int64_t> known_at;

    void add(const BlockForecasts& block, std::size_t i, const ForecastRows& rows, double known) {
        const std::size_t row = block.rows.begin + i;
        predicted.push_back(block.mean(i).value);
        actual.push_back(static_cast<double>(rows.targets.values[row]));
        previous.push_back(known);
        linear.push_back(block.linear[i]);
        training_mean.push_back(block.reference(rows, row).training_mean);
        shares_up.push_back(block.reference(rows, row).share_up);
        known_at.push_back(rows.known_at[row]);
    }
};

/// Calls visit(block, index in the block, row) for the rows of a path whose outcome is known.
template <class Visit>
void visit_scored(const ForecastRows& rows, std::span<const BlockForecasts> blocks, std::size_t path,
                  std::int64_t known_until, const Visit& visit) {
    for (const BlockForecasts* block : blocks_of(blocks, path))
        for (std::size_t i = 0; i < block->rows.size(); ++i)
            if (has_outcome(rows, block->rows.begin + i, known_until))
                visit(*block, i, block->rows.begin + i);
}

/// The smallest block of the bootstrap, in rows. Rows of several instruments at one time are not independent,
/// so a block holds all of these and spans as many times as for one instrument.
std::int64_t overlapping_rows(const trainer::TargetMeaning& meaning, const ScoredRows& scored,
                              bool several_instruments) {
    const auto horizon = static_cast<double>(meaning.horizon);
    if (!several_instruments)
        return static_cast<std::int64_t>(meaning.horizon);
    double times = 1;
    for (std::size_t i = 1; i < scored.known_at.size(); ++i)
        times += scored.known_at[i] != scored.known_at[i - 1] ? 1 : 0;
    const double at_once = std::ceil(static_cast<double>(scored.known_at.size()) / times);
    return static_cast<std::int64_t>(at_once * std::max(horizon, std::ceil(std::cbrt(times))));
}

trainer::Evaluation evaluate(const trainer::TargetMeaning& meaning, const ScoredRows& scored,
                             bool several_instruments, std::uint64_t seed) {
    if (scored.actual.empty())
        return {};
    trainer::EvaluationContext context{meaning.text(), overlapping_rows(meaning, scored, several_instruments),
                                       seed, meaning.previous_text()};
    context.row_noun = "predicted row";
    context.place = "on rows that the networks were not trained on,";
    context.caution = "rekindle backtest shows what is left of it after costs.";
    context.training_mean = scored.training_mean;
    context.directional = meaning.is_directional();
    if (several_instruments)
        context.shares_up = scored.shares_up;
    double share_up = 0;
    for (const double share : scored.shares_up)
        share_up += share;
    share_up /= static_cast<double>(scored.shares_up.size());
    if (meaning.is_probability()) {
        context.logistic = scored.linear;
        return trainer::evaluate_probabilities(scored.predicted, scored.actual, scored.previous, share_up,
                                               context);
    }
    context.ridge = scored.linear;
    return trainer::evaluate_returns(scored.predicted, scored.actual, scored.previous, share_up, context);
}

} // namespace

std::vector<double> previous_outcomes(const ForecastRows& rows) {
    struct Instrument {
        std::vector<std::size_t> rows; ///< so far
        std::size_t next = 0;          ///< index of the first of these whose outcome is not known yet
        double latest = 0;
    };
    std::vector<Instrument> instruments(std::max<std::size_t>(1, rows.instruments.size()));
    std::vector<double> previous(rows.known_at.size());
    for (std::size_t row = 0; row < previous.size(); ++row) {
        Instrument& own = instruments[rows.matrix.instrument_of(row)];
        for (; own.next < own.rows.size(); ++own.next) {
            const std::size_t earlier = own.rows[own.next];
            if (rows.targets.valid[earlier] == 0)
                continue;
            if (rows.target_end[earlier] > rows.known_at[row])
                break;
            own.latest = static_cast<double>(rows.targets.values[earlier]);
        }
        previous[row] = own.latest;
        own.rows.push_back(row);
    }
    return previous;
}

trainer::Evaluation evaluate_path(const ForecastRows& rows, std::span<const BlockForecasts> blocks,
                                  std::size_t path, std::int64_t known_until, std::uint64_t seed) {
    const std::vector<double> known = previous_outcomes(rows);
    ScoredRows scored;
    visit_scored(rows, blocks, path, known_until,
                 [&](const BlockForecasts& block, std::size_t i, std::size_t row) {
                     scored.add(block, i, rows, known[row]);
                 });
    return evaluate(rows.meaning, scored, !rows.instruments.empty(), seed);
}

std::vector<trainer::Evaluation> evaluate_instruments(const ForecastRows& rows,
                                                      std::span<const BlockForecasts> blocks,
                                                      std::size_t path, std::int64_t known_until,
                                                      std::uint64_t seed) {
    const std::vector<double> known = previous_outcomes(rows);
    std::vector<ScoredRows> scored(rows.instruments.size());
    if (!scored.empty())
        visit_scored(rows, blocks, path, known_until,
                     [&](const BlockForecasts& block, std::size_t i, std::size_t row) {
                         scored[rows.matrix.instrument[row]].add(block, i, rows, known[row]);
                     });
    std::vector<trainer::Evaluation> evaluations;
    for (const ScoredRows& own : scored)
        evaluations.push_back(evaluate(rows.meaning, own, false, seed));
    return evaluations;
}

void add_predictions(const ForecastRows& rows, std::span<const BlockForecasts> blocks,
                     std::span<const std::uint64_t> seeds, std::span<const std::string> instruments,
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
        table.instrument.add(instruments[rows.matrix.instrument_of(row)]);
        table.fold.add(fold);
        table.seed.add(seed);
        table.prediction.push_back(forecast.value);
        table.sigma.push_back(forecast.sigma);
        table.outcome.push_back(has_outcome(rows, row, known_until)
                                    ? static_cast<double>(rows.targets.values[row])
                                    : std::numeric_limits<double>::quiet_NaN());
        table.baseline.push_back(block.reference(rows, row).training_mean);
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
