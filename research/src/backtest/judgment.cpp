#include "judgment.h"

#include <rekindle/base/text.h>
#include <rekindle/research/bootstrap.h>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace rekindle::research {

namespace {

using trainer::Score;

double mean_return(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double sharpe_or_nan(std::span<const double> values) {
    const Expected<SharpeEstimate> estimate = estimate_sharpe(values);
    return estimate ? estimate->ratio : std::numeric_limits<double>::quiet_NaN();
}

/// Completes a score of returns with its interval, or with the reason why there is none. `scale` converts the
/// statistic per period to the printed figure.
Score returns_score(Score score, std::span<const double> returns,
                    const std::function<double(std::span<const double>)>& statistic, double scale,
                    std::uint64_t seed) {
    score.value = scale * statistic(returns);
    if (std::isnan(score.value))
        score.value = 0;
    const Expected<BootstrapInterval> interval = bootstrap_interval(returns, statistic, {.seed = seed});
    if (interval)
        score.interval = {scale * interval->interval.low, scale * interval->interval.high};
    else
        score.without_interval = interval.error().message();
    return score;
}

std::vector<Score> scores_of(const PeriodReturns& periods, const PeriodReturns& buy_and_hold,
                             const BacktestEvaluation& evaluation, std::uint64_t seed) {
    const Performance &own = evaluation.strategy, &held = evaluation.buy_and_hold;
    std::vector<Score> scores;
    if (evaluation.skill)
        scores.push_back(
            {.name = "deflated Sharpe ratio",
             .unit = "%",
             .value = 100 * std::min(evaluation.skill->deflated, evaluation.skill->deflated_beyond_market),
             .baseline = 100 * Skill::needed,
             .baseline_name = "the threshold for an edge",
             .without_interval = "the figure is itself a probability"});
    scores.push_back(returns_score({.name = "mean return per year",
                                    .unit = "%",
                                    .baseline = 100 * mean_return(buy_and_hold.strategy) * periods.per_year,
                                    .baseline_name = "buy and hold"},
                                   periods.strategy, mean_return, 100 * periods.per_year, seed));
    if (evaluation.skill) {
        std::vector<double> beyond(periods.strategy.size());
        for (std::size_t i = 0; i < beyond.size(); ++i)
            beyond[i] = periods.strategy[i] - evaluation.skill->market_share * periods.market[i];
        scores.push_back(returns_score({.name = "return per year beyond the market",
                                        .unit = "%",
                                        .baseline = 0,
                                        .baseline_name = "a constant share of the market"},
                                       beyond, mean_return, 100 * periods.per_year, seed));
        const double factor = own.annual_sharpe / evaluation.skill->sharpe.ratio;
        scores.push_back(returns_score(
            {.name = "annual Sharpe ratio", .baseline = held.annual_sharpe, .baseline_name = "buy and hold"},
            periods.strategy, sharpe_or_nan,
            std::isfinite(factor) && factor > 0 ? factor : std::sqrt(periods.per_year), seed));
    }
    return scores;
}

std::string trials_text(std::size_t trials) {
    return trials == 1
               ? "one setting"
               : fmt::format("the best of {} settings", with_thousands(static_cast<std::int64_t>(trials)));
}

std::string percent_text(double share) {
    const double percent = 100 * share;
    return percent < 1000 ? fmt::format("{:.1f} %", percent)
                          : with_thousands(static_cast<std::int64_t>(std::round(percent))) + " %";
}

trainer::Verdict verdict_of(const PeriodReturns& periods, const Error* unjudged,
                            const BacktestEvaluation& evaluation) {
    const Performance& own = evaluation.strategy;
    const std::string length = counted(periods.strategy.size(), periods.name);
    if (own.trades == 0)
        return {.label = "No trades",
                .finding = "no order was filled",
                .details = own.refused > 0   ? "The equity did not cover the margin of the orders."
                           : own.unsized > 0 ? "The sizing rule could not size a position."
                                             : "Every target position was flat.",
                .undecided = true};
    const std::string outcome =
        fmt::format("after costs, the strategy {} {} in {}", own.profit < 0 ? "lost" : "earned",
                    percent_text(std::abs(own.total_return)), length);
    if (!evaluation.skill)
        return {.label = "Too little data",
                .finding = outcome,
                .details = "No verdict: " + unjudged->message() + ".",
                .undecided = true};
    const Skill& skill = *evaluation.skill;
    std::string details =
        fmt::format("The deflated Sharpe ratio is {:.1f} % for {}, and {:.1f} % after subtracting the "
                    "strategy's share of the market's return; an edge needs {:.0f} % in both. ",
                    100 * skill.deflated, trials_text(evaluation.trials), 100 * skill.deflated_beyond_market,
                    100 * Skill::needed);
    details +=
        fmt::format("Annual Sharpe ratio {:.2f} (buy and hold {:.2f}), largest drawdown {:.1f} % ({:.1f} %).",
                    own.annual_sharpe, evaluation.buy_and_hold.annual_sharpe, 100 * own.largest_drawdown,
                    100 * evaluation.buy_and_hold.largest_drawdown);
    if (skill.deflated >= Skill::needed && skill.deflated_beyond_market >= Skill::needed)
        return {.label = "Edge",
                .finding = outcome + ", more than luck and the market explain",
                .details = details};
    if (own.profit < 0) {
        if (evaluation.profit_before_costs > 0)
            details += " Before costs, it earned " +
                       percent_text(evaluation.profit_before_costs / own.capital) + ".";
        return {.label = "No edge", .finding = outcome, .details = details};
    }
    if (skill.deflated >= Skill::needed)
        return {.label = "No edge",
                .finding = outcome + ", no more than its share of the market explains",
                .details = details};
    const double longest = 30 * periods.per_year; // a longer record is out of reach
    if (skill.periods_needed && *skill.periods_needed < longest)
        details +=
            fmt::format(" If returns like these continued, {} would be enough.",
                        counted(static_cast<std::int64_t>(std::ceil(*skill.periods_needed)), periods.name));
    return {.label = "No edge", .finding = outcome + ", which luck can explain", .details = details};
}

} // namespace

void score_backtest(const PeriodReturns& periods, const PeriodReturns& buy_and_hold, std::uint64_t seed,
                    const Error* unjudged, BacktestEvaluation& evaluation) {
    trainer::Evaluation& scored = evaluation.evaluation;
    scored.rows = periods.strategy.size();
    scored.scores = scores_of(periods, buy_and_hold, evaluation, seed);
    scored.verdict = verdict_of(periods, unjudged, evaluation);
    scored.has_edge = evaluation.skill && evaluation.strategy.trades > 0 &&
                      evaluation.skill->deflated >= Skill::needed &&
                      evaluation.skill->deflated_beyond_market >= Skill::needed;
}

} // namespace rekindle::research
