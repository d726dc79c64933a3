#pragma once
/// Predictions of networks for rows of features, with the standard deviation of the outcome.

#include <rekindle/market/targets.h>
#include <rekindle/mlp/engine.h>
#include <rekindle/trainer/dataset.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::trainer {

/// In the unit of the target.
struct Forecast {
    double value = 0;
    double sigma = 0; ///< standard deviation of the outcome around the value
};

/// What a run records about a network's training, so that later rows can be predicted and compared with it.
struct ForecastRecord {
    std::uint64_t seed = 0;
    std::int64_t validation_from = 0; ///< instant at which the first validation row was known, UTC seconds
    std::int64_t validation_to = 0;   ///< instant at which the last one was known
    double training_mean = 0;         ///< mean of the training targets; for a direction, the share of rises
    double training_error = 0;        ///< root mean square of outcome - prediction over the training rows
    /// training_error of each of several instruments, in the order of Dataset::instruments.
    std::vector<double> instrument_errors = {};
};

/// Makes a forecast from a network's outputs for one row. With the loss gaussian-nll, sigma is the network's
/// own estimate; for a probability p it is sqrt(p (1 - p)); otherwise it is `training_error`.
Forecast forecast_of(const TargetMeaning& meaning, std::span<const float> outputs, double training_error);
/// Forecasts for rows of scaled inputs, stored row-major.
std::vector<Forecast> forecasts_of(const mlp::Engine& engine, const TargetMeaning& meaning,
                                   double training_error, std::span<const float> inputs);

/// The mean of the networks' forecasts for a row, without networks that have none. Its squared sigma is the
/// mean of their squared sigmas plus the variance of their values. Precondition: at least one network has
/// forecasts.
Forecast mean_forecast(std::span<const std::vector<Forecast>> networks, std::size_t row);
/// The standard deviation of the networks' values for a row.
double spread_of(std::span<const std::vector<Forecast>> networks, std::size_t row);

/// The training error is measured on at most this many training rows, equally spaced.
inline constexpr std::size_t error_rows = 16'384;
/// Root mean square of outcome - prediction over those rows, in the unit of the target.
double training_error(const mlp::Engine& engine, const Dataset& set);
/// The same for each of several instruments, over its own rows or, if it has none, over all rows. Empty for
/// one instrument.
std::vector<double> instrument_errors(const mlp::Engine& engine, const Dataset& set);
/// The record of a network that was trained on the set with this seed.
ForecastRecord forecast_record(const Dataset& set, std::uint64_t seed, const mlp::Engine& engine);

/// The outcome of a row in the unit of the target; NaN if it has none.
double outcome_of(const market::Targets& targets, std::size_t row);

} // namespace rekindle::trainer
