#include "search/judgment.h"

#include <rekindle/base/text.h>
#include <rekindle/research/multiple_testing.h>
#include <rekindle/research/overfitting.h>
#include <rekindle/research/sharpe.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace rekindle::research {

namespace {

constexpr double significant = 0.05;

/// Timing returns, with one row per period and one column per trial. Owns the values that its panel views.
struct Returns {
    std::vector<double> values;
    std::size_t strategies = 0;
    std::size_t chosen = 0; ///< the column of the chosen trial
    Panel panel() const { return {values, strategies}; }
};

/// The instants that all lists have in common.
std::vector<std::int64_t> common_instants(std::span<const std::span<const std::int64_t>> rows) {
    std::vector<std::int64_t> common(rows.front().begin(), rows.front().end());
    const std::int64_t* seen = rows.front().data();
    for (const auto& list : rows) {
        if (list.data() == seen)
            continue; // trials on the same features share their list
        seen = list.data();
        std::vector<std::int64_t> kept;
        std::ranges::set_intersection(common, list, std::back_inserter(kept));
        common = std::move(kept);
    }
    return common;
}

Returns aligned_returns(std::span<const Trial> trials, std::size_t chosen,
                        std::span<const std::span<const std::int64_t>> rows) {
    std::vector<std::size_t> usable;
    std::vector<std::span<const std::int64_t>> lists;
    Returns returns;
    for (std::size_t t = 0; t < trials.size(); ++t)
        if (!trials[t].diverged) {
            if (t == chosen)
                returns.chosen = usable.size();
            usable.push_back(t);
            lists.push_back(rows[t]);
        }
    const std::vector<std::int64_t> common = common_instants(lists);
    returns.strategies = usable.size();
    returns.values.resize(common.size() * usable.size());
    for (std::size_t s = 0; s < usable.size(); ++s) {
        const auto& own = lists[s];
        std::size_t at = 0;
        for (std::size_t period = 0; period < common.size(); ++period, ++at) {
            while (own[at] != common[period])
                ++at;
            returns.values[period * usable.size() + s] = static_cast<double>(trials[usable[s]].timing[at]);
        }
    }
    return returns;
}

std::vector<double> column(const Returns& returns, std::size_t strategy) {
    std::vector<double> values(returns.panel().periods());
    for (std::size_t period = 0; period < values.size(); ++period)
        values[period] = returns.panel().at(period, strategy);
    return values;
}

double variance_of_ratios(const Returns& returns) {
    double sum = 0, squares = 0, count = 0;
    for (std::size_t s = 0; s < returns.strategies; ++s)
        if (const auto estimate = estimate_sharpe(column(returns, s))) {
            sum += estimate->ratio;
            squares += estimate->ratio * estimate->ratio;
            ++count;
        }
    return count < 2 ? 0 : std::max(0.0, (squares - sum * sum / count) / (count - 1));
}

template <class T, class Read>
std::optional<double> value_or_reason(const Expected<T>& result, const char* figure, const Read& read,
                                      std::vector<std::string>& reasons) {
    if (result)
        return read(*result);
    reasons.push_back(fmt::format("no {}: {}", figure, result.error().message()));
    return std::nullopt;
}

std::string p_text(double p) {
    return p < 0.001 ? "p below 0.001" : fmt::format("p = {:.3f}", p);
}

} // namespace

std::vector<Trial> last_trials(std::vector<Trial> trials) {
    std::map<std::uint64_t, Trial> last;
    for (Trial& trial : trials) {
        auto [found, added] = last.try_emplace(trial.number, trial);
        if (!added && trial.rung > found->second.rung)
            found->second = std::move(trial);
    }
    std::vector<Trial> list;
    list.reserve(last.size());
    for (auto& [number, trial] : last)
        list.push_back(std::move(trial));
    return list;
}

std::optional<std::size_t> best_of(std::span<const Trial> trials, Objective objective) {
    std::int64_t top = 0;
    for (const Trial& trial : trials)
        if (!trial.diverged)
            top = std::max(top, trial.rung);
    std::optional<std::size_t> best;
    const auto score = [&](std::size_t t) {
        return objective == Objective::timing ? trials[t].timing_ratio : trials[t].loss_saved;
    };
    for (std::size_t t = 0; t < trials.size(); ++t)
        if (!trials[t].diverged && trials[t].rung == top && std::isfinite(score(t)) &&
            (!best || score(t) > score(*best)))
            best = t;
    return best;
}

SearchJudgment judge(std::span<const Trial> trials, std::size_t chosen,
                     std::span<const std::span<const std::int64_t>> rows, std::size_t overlap,
                     std::uint64_t seed, ThreadPool& pool) {
    SearchJudgment judgment;
    judgment.trials = trials.size();
    judgment.diverged =
        static_cast<std::size_t>(std::ranges::count_if(trials, [](const Trial& t) { return t.diverged; }));
    const Returns returns = aligned_returns(trials, chosen, rows);
    const Panel panel = returns.panel();
    judgment.rows = panel.periods();
    auto& reasons = judgment.reasons;
    const auto estimate = estimate_sharpe(column(returns, returns.chosen));
    if (!estimate || judgment.rows < min_judged_periods) {
        reasons.push_back(
            fmt::format("no judgment: the settings share only {}, but a judgment needs at least {}",
                        counted(judgment.rows, "scored row"), min_judged_periods));
        return judgment;
    }
    const double variance = trials.size() > 1 ? variance_of_ratios(returns) : 0;
    judgment.deflated_sharpe = deflated_sharpe_ratio(*estimate, trials.size(), variance);
    judgment.track_record = value_or_reason(
        minimum_track_record_length(*estimate, expected_maximum_sharpe(trials.size(), variance)),
        "minimum track record length", [](double value) { return value; }, reasons);
    BootstrapOptions options;
    options.seed = seed;
    options.replicates = 1000;
    if (overlap > 1)
        if (const auto length = optimal_block_length(column(returns, returns.chosen)))
            options.block_length = std::max(static_cast<double>(overlap), *length);
    const Expected<StrategyTests> tests = test_strategies(panel, options, pool);
    judgment.superior_p = value_or_reason(
        tests, "test of superior ability", [](const StrategyTests& test) { return test.superior.p_value; },
        reasons);
    judgment.chosen_p = value_or_reason(
        tests, "p-value of the chosen setting",
        [&](const StrategyTests& test) { return test.stepdown[returns.chosen]; }, reasons);
    if (returns.strategies > 1)
        judgment.overfitting = value_or_reason(
            probability_of_overfitting(panel, 10, pool), "probability of overfitting",
            [](const Overfitting& result) { return result.probability; }, reasons);
    return judgment;
}

bool has_edge(const SearchJudgment& judgment) {
    return judgment.chosen_p && *judgment.chosen_p <= significant;
}

trainer::Verdict verdict_of(const SearchJudgment& judgment) {
    const std::string settings = counted(judgment.trials, "setting");
    if (!judgment.chosen_p)
        return {"Too little to tell", fmt::format("the best of {} cannot be judged", settings),
                judgment.reasons.empty() ? "" : judgment.reasons.front() + ".", true};
    const std::string details =
        fmt::format("For its timing returns, {} after adjusting for all {} (Romano and Wolf, 2005).",
                    p_text(*judgment.chosen_p), settings);
    if (has_edge(judgment))
        return {"Edge",
                fmt::format("the best of {} tells rises from falls better than luck explains, given how many "
                            "were tried",
                            settings),
                details};
    return {"No edge", fmt::format("the best of {} is no better than luck alone would make it", settings),
            details};
}

} // namespace rekindle::research
