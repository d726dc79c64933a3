#pragma once
/// Scores, each with its baseline and a confidence interval from a block bootstrap.

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rekindle::trainer {

struct Interval {
    double low = 0, high = 0;
    bool contains(double value) const noexcept { return low <= value && value <= high; }
    /// The smallest interval that contains this one and the value.
    Interval including(double value) const noexcept {
        return {value < low ? value : low, value > high ? value : high};
    }
};

/// One figure, and what a model without any knowledge reaches on the same rows.
struct Score {
    std::string name;      ///< "direction hit rate"
    std::string unit = {}; ///< "%", "", "nats"
    double value = 0;
    /// 95 %, circular block bootstrap (Politis and Romano, 1992); always contains `value`.
    Interval interval = {};
    double baseline = 0;
    std::string baseline_name; ///< "majority class (up)"
    bool higher_is_better = true;
    std::string without_interval = {}; ///< why there is no interval, as a clause; "" if there is one
};

/// Rows with similar predictions: predicted and actual.
struct CalibrationBin {
    double predicted = 0, actual = 0; ///< means, in the unit of the target
    std::size_t rows = 0;
};

/// The verdict on the scores, as parts of "LABEL: FINDING. DETAILS".
struct Verdict {
    std::string label; ///< "No edge"; empty when it was read from a file, which has the text only
    std::string finding; ///< a clause: "the model does not predict the … better than …"; empty like the label
    std::string details;    ///< sentences: the decisive score, what to keep in mind
    bool undecided = false; ///< too few rows, or no trades, to judge

    bool empty() const { return label.empty() && details.empty(); }
    /// The whole verdict.
    std::string text() const;
    /// The finding as a sentence; everything, when the verdict was read from a file.
    std::string headline() const;
};

struct Evaluation {
    std::size_t rows = 0;
    std::vector<Score> scores; ///< the first one decides whether there is an edge
    bool has_edge = false;
    Verdict verdict;
    std::vector<CalibrationBin> calibration;
    Interval residual_quantiles; ///< 5 % and 95 % of actual - predicted: the interval of a prediction
    double interval_level = 0.9;
};

struct EvaluationContext {
    std::string target_text;  ///< "log return of the next session"
    std::int64_t overlap = 1; ///< rows ahead that a target looks: blocks are at least this long
    std::uint64_t seed = 0;   ///< of the bootstrap
    /// Name of the baseline `previous`, such as "the last session's return".
    std::string previous_name = "the last return";
    std::span<const double> ridge = {};    ///< ridge_predictions(); if empty, ridge regression is not scored
    std::span<const double> logistic = {}; ///< logistic_predictions(), for probabilities only; likewise
    /// Per row, the reference forecast: the mean of the training targets, or for a probability the share of
    /// rises. If empty, the reference is a return of zero, or training_share_up.
    std::span<const double> training_mean = {};
    /// False for a volatility, whose sign says nothing: directions are not scored, and no score compares with
    /// zero.
    bool directional = true;
    /// Per row, the share of rises among the training rows of its instrument, which replaces
    /// training_share_up; empty for one instrument.
    std::span<const double> shares_up = {};
    std::string row_noun = "validation row";     ///< in the singular
    std::string place = "on the validation set"; ///< which rows an edge was found on
    /// What to keep in mind about an edge.
    std::string caution = "One validation set is one sample; test the model on data it has never seen.";
};

/// Scores: out-of-sample R² against the training mean and the zero return, mean absolute error, direction hit
/// rate against the training majority, and R² and hit rate of ridge regression. `previous` is the latest
/// outcome known when the prediction was made. All spans have one element per validation row. The hit rate
/// counts the rows whose outcome is not 0, and is missing if there are none; a prediction of 0 is half a hit.
/// `training_share_up` is the share of rises among rises and falls.
Evaluation evaluate_returns(std::span<const double> predicted, std::span<const double> actual,
                            std::span<const double> previous, double training_share_up,
                            const EvaluationContext& context);

/// Log-loss skill against the training share of rises, accuracy against the majority class and against ridge
/// regression (a rise where it predicts more than 1/2), log loss of logistic regression, Matthews
/// correlation. `actual` and `previous` are 0 or 1; probabilities are clamped to [1e-6, 1 - 1e-6].
Evaluation evaluate_probabilities(std::span<const double> probability, std::span<const double> actual,
                                  std::span<const double> previous, double training_share_up,
                                  const EvaluationContext& context);

/// The interval of a prediction, which always contains `value`. Of a return: the value and the residual
/// quantiles. Of a probability: a 90 % interval of the share of rises among the validation rows whose
/// probability was nearest (Wilson, 1927). NaN when the evaluation has no rows.
Interval prediction_interval(const Evaluation& evaluation, bool probability, double value);

/// "direction hit rate 51.2 % (95 % interval 47.0 to 55.3 %), baseline 53.1 % (majority class: up)".
std::string describe(const Score& score);
void to_json(nlohmann::ordered_json& json, const Evaluation& evaluation);
void from_json(const nlohmann::ordered_json& json, Evaluation& evaluation);

} // namespace rekindle::trainer
