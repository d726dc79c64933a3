#include <rekindle/base/philox.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/scores.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

namespace rekindle::trainer {

namespace {

constexpr std::size_t replicates = 1000;
constexpr std::size_t min_judged_rows = 30;

/// The sums of `length` consecutive values starting at each row, with wraparound. Each is the end of one
/// stretch of `length` rows plus the beginning of the next, so that a large value elsewhere does not cost a
/// small sum its digits, as it would with differences of running sums. Precondition: 1 <= length <= rows.
std::vector<double> block_sums(std::span<const double> values, std::size_t length) {
    const std::size_t rows = values.size();
    const auto at = [&](std::size_t i) { return values[i < rows ? i : i - rows]; };
    const std::size_t last = rows + length - 1;
    std::vector<double> from_begin(last), to_end(last);
    for (std::size_t begin = 0; begin < last; begin += length) {
        const std::size_t end = std::min(last, begin + length);
        double sum = 0;
        for (std::size_t i = begin; i < end; ++i)
            from_begin[i] = sum += at(i);
        sum = 0;
        for (std::size_t i = end; i-- > begin;)
            to_end[i] = sum += at(i);
    }
    std::vector<double> sums(rows);
    for (std::size_t i = 0; i < rows; ++i)
        sums[i] = i % length == 0 ? from_begin[i + length - 1] : to_end[i] + from_begin[i + length - 1];
    return sums;
}

/// 95 % interval of a statistic of column sums, over circular blocks of rows drawn with replacement. It
/// contains `value`, the statistic of the rows themselves: with few or skewed rows, or rounding, the
/// quantiles of the samples can be on one side of it.
Interval bootstrap(const std::vector<std::vector<double>>& columns, const EvaluationContext& context,
                   const std::function<double(std::span<const double>)>& statistic, double value) {
    const std::size_t rows = columns.front().size();
    const auto natural = static_cast<std::size_t>(std::ceil(std::cbrt(static_cast<double>(rows))));
    const std::size_t length =
        std::clamp<std::size_t>(static_cast<std::size_t>(context.overlap), natural, rows);
    const std::size_t rest = rows % length; // of the last block of a sample
    std::vector<std::vector<double>> sums, last_sums;
    for (const auto& column : columns) {
        sums.push_back(block_sums(column, length));
        last_sums.push_back(rest > 0 ? block_sums(column, rest) : std::vector<double>());
    }

    std::vector<double> results;
    std::vector<double> totals(columns.size());
    for (std::size_t replicate = 0; replicate < replicates; ++replicate) {
        PhiloxStream random(context.seed, RandomPurpose::bootstrap, static_cast<std::uint32_t>(replicate));
        std::fill(totals.begin(), totals.end(), 0.0);
        for (std::size_t drawn = 0; drawn < rows; drawn += length) {
            const std::size_t first = random.next_below(static_cast<std::uint32_t>(rows));
            const auto& table = rows - drawn < length ? last_sums : sums;
            for (std::size_t c = 0; c < totals.size(); ++c)
                totals[c] += table[c][first];
        }
        if (const double result = statistic(totals); !std::isnan(result))
            results.push_back(result);
    }
    if (results.empty())
        return {value, value};
    std::sort(results.begin(), results.end());
    const auto count = static_cast<double>(results.size());
    const auto low = static_cast<std::size_t>(0.025 * count), high = static_cast<std::size_t>(0.975 * count);
    return Interval{results[low], results[std::max(low, std::max<std::size_t>(1, high) - 1)]}.including(
        value);
}

double quantile(std::vector<double> values, double share) {
    const double position = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(below), values.end());
    const double low = values[below];
    if (below + 1 == values.size())
        return low;
    const double high =
        *std::min_element(values.begin() + static_cast<std::ptrdiff_t>(below) + 1, values.end());
    return low + (position - static_cast<double>(below)) * (high - low);
}

/// Ten bins of equal size by prediction, or fewer when there are few rows.
std::vector<CalibrationBin> calibrate(std::span<const double> predicted, std::span<const double> actual) {
    std::vector<std::size_t> order(predicted.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return predicted[a] < predicted[b]; });
    const std::size_t bins = std::clamp<std::size_t>(predicted.size() / 20, 1, 10);
    std::vector<CalibrationBin> result(bins);
    for (std::size_t i = 0; i < order.size(); ++i) {
        CalibrationBin& bin = result[i * bins / order.size()];
        bin.predicted += predicted[order[i]];
        bin.actual += actual[order[i]];
        ++bin.rows;
    }
    for (CalibrationBin& bin : result) {
        bin.predicted /= static_cast<double>(bin.rows);
        bin.actual /= static_cast<double>(bin.rows);
    }
    return result;
}

std::vector<double> per_row(std::size_t rows, const std::function<double(std::size_t)>& value) {
    std::vector<double> result(rows);
    for (std::size_t i = 0; i < rows; ++i)
        result[i] = value(i);
    return result;
}

double mean(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The share of rises among the training rows that each validation row is compared with.
class TrainingShares {
  public:
    TrainingShares(double of_all, const EvaluationContext& context)
        : of_all_(of_all), of_rows_(context.shares_up) {}

    double of(std::size_t row) const { return of_rows_.empty() ? of_all_ : of_rows_[row]; }
    /// Above 0 where the majority rose.
    double majority(std::size_t row) const { return of(row) >= 0.5 ? 1 : -1; }
    std::string majority_name() const {
        if (!of_rows_.empty())
            return "the training majority of each instrument";
        return of_all_ >= 0.5 ? "always up, the training majority" : "always down, the training majority";
    }
    std::string share_name() const {
        return of_rows_.empty() ? "the share of rises in training"
                                : "the share of rises of each instrument in training";
    }

  private:
    double of_all_;
    std::span<const double> of_rows_;
};

/// 1 - sum(model) / sum(base): the share of the baseline's loss that the model saves.
Score skill_score(std::string name, std::vector<double> model_loss, std::vector<double> base_loss,
                  std::string baseline_name, const EvaluationContext& context) {
    const auto saved = [](std::span<const double> sums) {
        return sums[1] > 0 ? 100 * (1 - sums[0] / sums[1]) : 0.0;
    };
    const std::vector<std::vector<double>> columns{std::move(model_loss), std::move(base_loss)};
    const std::array sums{std::accumulate(columns[0].begin(), columns[0].end(), 0.0),
                          std::accumulate(columns[1].begin(), columns[1].end(), 0.0)};
    const double value = saved(sums);
    return {std::move(name),          "%", value, bootstrap(columns, context, saved, value), 0,
            std::move(baseline_name), true};
}

/// The mean of a per-row quantity times `scale`.
Score mean_score(std::string name, std::string unit, std::vector<double> values, double scale,
                 double baseline, std::string baseline_name, bool higher_is_better,
                 const EvaluationContext& context) {
    const auto rows = static_cast<double>(values.size());
    const auto average = [=](std::span<const double> sums) { return scale * sums[0] / rows; };
    Score score{std::move(name), std::move(unit),          scale * mean(values), {},
                baseline,        std::move(baseline_name), higher_is_better};
    score.interval = bootstrap({std::move(values)}, context, average, score.value);
    return score;
}

/// The outcome of a predicted direction: 1 for a hit, 0 for a miss, 0.5 where the prediction is 0.
double hit(double predicted, double actual) {
    return predicted == 0 ? 0.5 : (predicted > 0) == (actual > 0) ? 1.0 : 0.0;
}

/// The share of hits among the rows that moved, in percent: a flat outcome is neither a hit nor a miss.
/// Nothing when no row moved.
std::optional<Score> hit_rate(std::string name, std::span<const double> predicted,
                              std::span<const double> actual, const TrainingShares& shares,
                              const EvaluationContext& context) {
    const auto moved = [&](std::size_t i) { return actual[i] != 0 ? 1.0 : 0.0; };
    double hits = 0, base_hits = 0, rows = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        rows += moved(i);
        hits += moved(i) * hit(predicted[i], actual[i]);
        base_hits += moved(i) * hit(shares.majority(i), actual[i]);
    }
    if (rows == 0)
        return std::nullopt;
    const auto share = [](std::span<const double> sums) {
        return sums[1] > 0 ? 100 * sums[0] / sums[1] : std::numeric_limits<double>::quiet_NaN();
    };
    Score score{std::move(name), "%", 100 * hits / rows, {}, 100 * base_hits / rows, "", true};
    score.baseline_name = shares.majority_name();
    score.interval = bootstrap(
        {per_row(actual.size(), [&](std::size_t i) { return moved(i) * hit(predicted[i], actual[i]); }),
         per_row(actual.size(), moved)},
        context, share, score.value);
    return score;
}

/// The scores that compare the model with a linear one.
struct LinearScores {
    Score own;        ///< the score of the linear model itself, against the usual baseline
    Score against;    ///< the model's advantage over it: above the baseline when the model is better
    double model = 0; ///< the model's value of the score `own`
    const char* name = nullptr;
};

constexpr const char* ridge_name = "ridge regression on the same features";
constexpr const char* logistic_name = "logistic regression on the same features";

std::string capitalized(std::string text) {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

/// "Ridge regression on the same features reaches 20.2 % (95 % interval 15 to 25 %), the model 16.6 %".
std::string linear_figures(const LinearScores& linear) {
    return fmt::format("{} reaches {:.3g} % (95 % interval {:.3g} to {:.3g} %), the model {:.3g} %",
                       capitalized(linear.name), linear.own.value, linear.own.interval.low,
                       linear.own.interval.high, linear.model);
}

/// Adds a sentence to the verdict that compares the model with the linear one.
void judge_linear(Evaluation& evaluation, const LinearScores& linear) {
    Verdict& verdict = evaluation.verdict;
    const bool linear_has_edge = linear.own.interval.low > linear.own.baseline;
    const bool linear_is_better = linear.against.interval.high < linear.against.baseline;
    const bool model_is_better = linear.against.interval.low > linear.against.baseline;
    if (evaluation.has_edge && linear_is_better)
        verdict.finding += fmt::format(", but {} predicts it better still", linear.name);
    else if (linear_has_edge && !evaluation.has_edge)
        verdict.finding += fmt::format("; {} does", linear.name);
    const char* comparison = linear_is_better  ? ", which is worse by more than chance"
                             : model_is_better ? ", which is better by more than chance"
                                               : "; the difference may be chance";
    verdict.details += fmt::format(" {}{}.", linear_figures(linear), comparison);
}

void judge(Evaluation& evaluation, const std::optional<LinearScores>& linear,
           const EvaluationContext& context) {
    const Score& decisive = evaluation.scores.front();
    evaluation.has_edge = evaluation.rows >= min_judged_rows && decisive.interval.low > decisive.baseline;
    const std::string& target = context.target_text;
    if (evaluation.rows < min_judged_rows) {
        evaluation.verdict = {
            "Too few rows to tell",
            fmt::format("{}, but at least {} are needed to judge the {}",
                        counted(static_cast<std::int64_t>(evaluation.rows), context.row_noun),
                        min_judged_rows, target),
            "", true};
        return;
    }
    if (evaluation.has_edge)
        evaluation.verdict = {"An edge",
                              fmt::format("{} the model predicts the {} better than {}", context.place,
                                          target, decisive.baseline_name),
                              fmt::format("{}. {}", describe(decisive), context.caution)};
    else
        evaluation.verdict = {
            "No edge",
            fmt::format("the model does not predict the {} better than {}", target, decisive.baseline_name),
            describe(decisive) + "."};
    if (linear)
        judge_linear(evaluation, *linear);
}

void require_same_size(std::size_t rows, std::size_t a, std::size_t b, const EvaluationContext& context) {
    bool same = rows > 0 && rows == a && rows == b;
    for (const auto& column : {context.ridge, context.logistic, context.training_mean, context.shares_up})
        same = same && (column.empty() || column.size() == rows);
    if (!same)
        throw internal_error(
            fmt::format("scores need non-empty columns of equal length, not {}, {}, {}, {}, {}, {} and {}",
                        rows, a, b, context.ridge.size(), context.logistic.size(),
                        context.training_mean.size(), context.shares_up.size()));
}

std::vector<double> squared_errors(std::span<const double> guess, std::span<const double> actual) {
    return per_row(actual.size(),
                   [&](std::size_t i) { return (actual[i] - guess[i]) * (actual[i] - guess[i]); });
}

/// The forecast that the decisive score compares the model with.
struct Reference {
    std::vector<double> values; ///< per row
    const char* name;
};

Reference reference_of_returns(std::size_t rows, const EvaluationContext& context) {
    if (context.training_mean.empty())
        return {std::vector<double>(rows), "a return of zero"};
    return {{context.training_mean.begin(), context.training_mean.end()},
            context.directional ? "the mean return in training" : "the mean in training"};
}

LinearScores compare_returns(std::span<const double> predicted, std::span<const double> actual,
                             const Score& model, const Reference& reference,
                             const EvaluationContext& context) {
    const auto of_ridge = squared_errors(context.ridge, actual);
    return {skill_score("squared error reduction of ridge regression", of_ridge,
                        squared_errors(reference.values, actual), reference.name, context),
            skill_score("squared error reduction vs. ridge regression", squared_errors(predicted, actual),
                        of_ridge, ridge_name, context),
            model.value, ridge_name};
}

} // namespace

Evaluation evaluate_returns(std::span<const double> predicted, std::span<const double> actual,
                            std::span<const double> previous, double training_share_up,
                            const EvaluationContext& context) {
    const std::size_t rows = predicted.size();
    require_same_size(rows, actual.size(), previous.size(), context);
    const TrainingShares shares(training_share_up, context);
    // Columns are computed where they are used, because with many validation rows each is large.
    const auto absolute_error = [&] {
        return per_row(rows, [&](std::size_t i) { return std::abs(actual[i] - predicted[i]); });
    };
    Evaluation result;
    result.rows = rows;
    const Reference reference = reference_of_returns(rows, context);
    result.scores.push_back(skill_score("squared error reduction (out-of-sample R²)",
                                        squared_errors(predicted, actual),
                                        squared_errors(reference.values, actual), reference.name, context));
    if (!context.training_mean.empty() && context.directional)
        result.scores.push_back(
            skill_score("squared error reduction vs. zero", squared_errors(predicted, actual),
                        per_row(rows, [&](std::size_t i) { return actual[i] * actual[i]; }),
                        "a return of zero", context));
    std::optional<LinearScores> ridge;
    if (!context.ridge.empty()) {
        ridge = compare_returns(predicted, actual, result.scores.front(), reference, context);
        result.scores.push_back(ridge->own);
        result.scores.push_back(ridge->against);
    }
    result.scores.push_back(skill_score("squared error reduction vs. " + context.previous_name,
                                        squared_errors(predicted, actual), squared_errors(previous, actual),
                                        context.previous_name, context));
    const auto error_of_baseline = per_row(rows, [&](std::size_t i) {
        return std::abs(actual[i] - (context.directional ? 0 : reference.values[i]));
    });
    result.scores.push_back(
        mean_score("mean absolute error", "%", absolute_error(), 100, 100 * mean(error_of_baseline),
                   context.directional ? "a return of zero" : reference.name, false, context));
    if (context.directional)
        if (auto rate = hit_rate("direction hit rate", predicted, actual, shares, context))
            result.scores.push_back(std::move(*rate));
    if (ridge && context.directional)
        if (auto rate =
                hit_rate("direction hit rate of ridge regression", context.ridge, actual, shares, context))
            result.scores.push_back(std::move(*rate));
    result.calibration = calibrate(predicted, actual);
    const auto residual = per_row(rows, [&](std::size_t i) { return actual[i] - predicted[i]; });
    result.residual_quantiles = {quantile(residual, 0.05), quantile(residual, 0.95)};
    judge(result, ridge, context);
    return result;
}

Evaluation evaluate_probabilities(std::span<const double> probability, std::span<const double> actual,
                                  std::span<const double> previous, double training_share_up,
                                  const EvaluationContext& context) {
    const std::size_t rows = probability.size();
    require_same_size(rows, actual.size(), previous.size(), context);
    const TrainingShares shares(training_share_up, context);
    const auto clamped = [](double p) { return std::clamp(p, 1e-6, 1 - 1e-6); };
    const auto log_loss = [&](double p, double y) {
        return y > 0.5 ? -std::log(clamped(p)) : -std::log1p(-clamped(p));
    };
    const auto model_losses =
        per_row(rows, [&](std::size_t i) { return log_loss(probability[i], actual[i]); });
    const auto reference_losses = per_row(rows, [&](std::size_t i) {
        return log_loss(context.training_mean.empty() ? shares.of(i) : context.training_mean[i], actual[i]);
    });
    /// `says` is above 0 for a rise and below 0 for a fall.
    const auto hits = [&](const std::function<double(std::size_t)>& says) {
        return per_row(rows, [&](std::size_t i) { return hit(says(i), actual[i] - 0.5); });
    };
    const auto model = [&](std::size_t i) { return probability[i] - 0.5; };

    Evaluation result;
    result.rows = rows;
    result.scores.push_back(
        skill_score("log loss reduction", model_losses, reference_losses, shares.share_name(), context));
    std::optional<LinearScores> logistic;
    if (!context.logistic.empty()) {
        const auto of_logistic =
            per_row(rows, [&](std::size_t i) { return log_loss(context.logistic[i], actual[i]); });
        logistic = {skill_score("log loss reduction of logistic regression", of_logistic, reference_losses,
                                shares.share_name(), context),
                    skill_score("log loss reduction vs. logistic regression", model_losses, of_logistic,
                                logistic_name, context),
                    result.scores.front().value, logistic_name};
        result.scores.push_back(logistic->own);
        result.scores.push_back(logistic->against);
    }
    const double of_majority = 100 * mean(hits([&](std::size_t i) { return shares.majority(i); }));
    result.scores.push_back(
        mean_score("accuracy", "%", hits(model), 100, of_majority, shares.majority_name(), true, context));
    std::optional<LinearScores> ridge;
    if (!context.ridge.empty()) {
        const auto of_model = hits(model);
        const auto of_ridge = hits([&](std::size_t i) { return context.ridge[i] - 0.5; });
        ridge = {mean_score("accuracy of ridge regression", "%", of_ridge, 100, of_majority,
                            shares.majority_name(), true, context),
                 mean_score("accuracy minus that of ridge regression", "%",
                            per_row(rows, [&](std::size_t i) { return of_model[i] - of_ridge[i]; }), 100, 0,
                            ridge_name, true, context),
                 result.scores.back().value, ridge_name};
        result.scores.push_back(ridge->own);
        result.scores.push_back(ridge->against);
    }
    result.scores.push_back(mean_score("accuracy", "%", hits(model), 100,
                                       100 * mean(hits([&](std::size_t i) { return previous[i] - 0.5; })),
                                       context.previous_name, true, context));
    // Columns: both up, model up, outcome up; the fourth cell follows from the number of rows.
    const std::vector<std::vector<double>> cells{
        per_row(rows, [&](std::size_t i) { return probability[i] > 0.5 && actual[i] > 0.5 ? 1.0 : 0.0; }),
        per_row(rows, [&](std::size_t i) { return probability[i] > 0.5 ? 1.0 : 0.0; }),
        per_row(rows, [&](std::size_t i) { return actual[i] > 0.5 ? 1.0 : 0.0; })};
    const auto matthews = [n = static_cast<double>(rows)](std::span<const double> s) {
        const double spread = std::sqrt(s[1] * (n - s[1]) * s[2] * (n - s[2]));
        return spread > 0 ? (n * s[0] - s[1] * s[2]) / spread : 0.0;
    };
    std::vector<double> totals;
    totals.reserve(cells.size());
    for (const auto& cell : cells)
        totals.push_back(std::accumulate(cell.begin(), cell.end(), 0.0));
    const double correlation = matthews(totals);
    result.scores.push_back({"Matthews correlation", "", correlation,
                             bootstrap(cells, context, matthews, correlation), 0, "no correlation", true});
    result.calibration = calibrate(probability, actual);
    const auto residual = per_row(rows, [&](std::size_t i) { return actual[i] - probability[i]; });
    result.residual_quantiles = {quantile(residual, 0.05), quantile(residual, 0.95)};
    judge(result, logistic ? logistic : ridge, context);
    return result;
}

Interval prediction_interval(const Evaluation& evaluation, bool probability, double value) {
    if (!probability)
        return Interval{value + evaluation.residual_quantiles.low, value + evaluation.residual_quantiles.high}
            .including(value);
    const auto nearest = std::min_element(
        evaluation.calibration.begin(), evaluation.calibration.end(), [&](const auto& a, const auto& b) {
            return std::abs(a.predicted - value) < std::abs(b.predicted - value);
        });
    if (nearest == evaluation.calibration.end() || nearest->rows == 0)
        return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
    constexpr double z = 1.6448536269514722;
    const auto n = static_cast<double>(nearest->rows);
    const double share = std::clamp(nearest->actual, 0.0, 1.0);
    const double center = (share + z * z / (2 * n)) / (1 + z * z / n);
    const double half = z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
    return Interval{std::max(0.0, center - half), std::min(1.0, center + half)}.including(value);
}

std::string Verdict::text() const {
    if (label.empty())
        return details;
    return fmt::format("{}: {}.{}{}", label, finding, details.empty() ? "" : " ", details);
}

std::string Verdict::headline() const {
    if (finding.empty())
        return details;
    std::string sentence = finding + ".";
    if (sentence[0] >= 'a' && sentence[0] <= 'z')
        sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
    return sentence;
}

std::string describe(const Score& score) {
    const std::string unit = score.unit.empty() ? "" : " " + score.unit;
    const std::string interval =
        score.without_interval.empty()
            ? fmt::format("95 % interval {:.3g} to {:.3g}{}", score.interval.low, score.interval.high, unit)
            : "no interval: " + score.without_interval;
    return fmt::format("{} {:.3g}{} ({}); baseline {:.3g}{} ({})", score.name, score.value, unit, interval,
                       score.baseline, unit, score.baseline_name);
}

void to_json(nlohmann::ordered_json& json, const Evaluation& e) {
    json = {{"rows", e.rows}, {"has_edge", e.has_edge}, {"verdict", e.verdict.text()}};
    auto& scores = json["scores"] = nlohmann::ordered_json::array();
    for (const Score& s : e.scores)
        scores.push_back({{"name", s.name},
                          {"unit", s.unit},
                          {"value", s.value},
                          {"interval_95", {s.interval.low, s.interval.high}},
                          {"baseline", s.baseline},
                          {"baseline_name", s.baseline_name},
                          {"higher_is_better", s.higher_is_better}});
    auto& bins = json["calibration"] = nlohmann::ordered_json::array();
    for (const CalibrationBin& b : e.calibration)
        bins.push_back({{"predicted", b.predicted}, {"actual", b.actual}, {"rows", b.rows}});
    json["residual_quantiles"] = {e.residual_quantiles.low, e.residual_quantiles.high};
    json["interval_level"] = e.interval_level;
}

void from_json(const nlohmann::ordered_json& json, Evaluation& e) {
    e = Evaluation{};
    e.rows = json.at("rows");
    e.has_edge = json.at("has_edge");
    e.verdict.details = json.at("verdict");
    for (const auto& s : json.at("scores"))
        e.scores.push_back({s.at("name"),
                            s.at("unit"),
                            s.at("value"),
                            {s.at("interval_95")[0], s.at("interval_95")[1]},
                            s.at("baseline"),
                            s.at("baseline_name"),
                            s.at("higher_is_better")});
    for (const auto& b : json.at("calibration"))
        e.calibration.push_back({b.at("predicted"), b.at("actual"), b.at("rows")});
    e.residual_quantiles = {json.at("residual_quantiles")[0], json.at("residual_quantiles")[1]};
    e.interval_level = json.at("interval_level");
}

} // namespace rekindle::trainer
