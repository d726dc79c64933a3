#include <rekindle/trainer/forecast.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rekindle::trainer {

Forecast forecast_of(const TargetMeaning& meaning, std::span<const float> outputs, double training_error) {
    const double value = meaning.value(outputs[0]);
    if (meaning.is_probability())
        return {value, std::sqrt(value * (1 - value))};
    if (meaning.loss.kind != mlp::LossSpec::Kind::gaussian_nll)
        return {value, training_error};
    constexpr double least_variance = 1e-6; // of GaussianNLLLoss
    const double variance = std::max(least_variance, std::exp(static_cast<double>(outputs[1])));
    return {value, std::sqrt(variance) * meaning.scale};
}

std::vector<Forecast> forecasts_of(const mlp::Engine& engine, const TargetMeaning& meaning,
                                   double training_error, std::span<const float> inputs) {
    const std::size_t width = engine.model().inputs, outputs = engine.model().outputs();
    const std::size_t rows = inputs.size() / width;
    std::vector<float> raw(rows * outputs);
    engine.predict(inputs.data(), width, rows, raw);
    std::vector<Forecast> forecasts;
    forecasts.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row)
        forecasts.push_back(
            forecast_of(meaning, std::span(raw).subspan(row * outputs, outputs), training_error));
    return forecasts;
}

double spread_of(std::span<const std::vector<Forecast>> networks, std::size_t row) {
    double mean = 0, squares = 0, count = 0;
    for (const auto& network : networks)
        if (!network.empty())
            mean += (network[row].value - mean) / ++count;
    for (const auto& network : networks)
        if (!network.empty())
            squares += (network[row].value - mean) * (network[row].value - mean);
    return std::sqrt(squares / count);
}

Forecast mean_forecast(std::span<const std::vector<Forecast>> networks, std::size_t row) {
    double values = 0, variances = 0, count = 0;
    Forecast latest;
    for (const auto& network : networks) {
        if (network.empty())
            continue;
        ++count;
        latest = network[row];
        values += latest.value;
        variances += latest.sigma * latest.sigma;
    }
    if (count == 1)
        return latest;
    return {values / count, std::hypot(std::sqrt(variances / count), spread_of(networks, row))};
}

namespace {

/// A sampled training row and the square of outcome - prediction.
struct SquaredError {
    std::size_t row = 0;
    double square = 0;
};

std::vector<SquaredError> squared_errors(const mlp::Engine& engine, const Dataset& set) {
    const mlp::Samples samples = set.train();
    const std::size_t rows = std::min(samples.count, error_rows), width = engine.model().inputs;
    std::vector<float> inputs;
    std::vector<SquaredError> errors;
    inputs.reserve(rows * width);
    for (std::size_t i = 0; i < rows; ++i) {
        const std::size_t chosen = samples.count * i / rows;
        errors.push_back({set.split.train_begin + chosen, 0});
        const float* row = samples.inputs + chosen * samples.stride;
        inputs.insert(inputs.end(), row, row + width);
    }
    const std::vector<double> predicted = predict_values(engine, set.meaning, inputs, rows);
    for (std::size_t i = 0; i < rows; ++i) {
        const double value =
            set.instruments.empty()
                ? predicted[i]
                : set.meaning_of(errors[i].row).outcome(set.meaning.network_target(predicted[i]));
        const double actual = set.targets.values[errors[i].row];
        errors[i].square = (actual - value) * (actual - value);
    }
    set.rows->inputs.release(0, set.rows->inputs.size());
    return errors;
}

} // namespace

double training_error(const mlp::Engine& engine, const Dataset& set) {
    const auto errors = squared_errors(engine, set);
    double squares = 0;
    for (const SquaredError& error : errors)
        squares += error.square;
    return std::sqrt(squares / static_cast<double>(errors.size()));
}

std::vector<double> instrument_errors(const mlp::Engine& engine, const Dataset& set) {
    if (set.instruments.empty())
        return {};
    std::vector<double> squares(set.instruments.size()), rows(squares.size()), result;
    for (const SquaredError& error : squared_errors(engine, set)) {
        squares[set.matrix.instrument_of(error.row)] += error.square;
        rows[set.matrix.instrument_of(error.row)] += 1;
    }
    for (std::size_t i = 0; i < squares.size(); ++i)
        result.push_back(rows[i] > 0 ? std::sqrt(squares[i] / rows[i]) : training_error(engine, set));
    return result;
}

ForecastRecord forecast_record(const Dataset& set, std::uint64_t seed, const mlp::Engine& engine) {
    return {seed,
            set.known[set.split.validation_begin],
            set.known[set.split.validation_end - 1],
            set.training_mean(),
            training_error(engine, set),
            instrument_errors(engine, set)};
}

double outcome_of(const market::Targets& targets, std::size_t row) {
    return targets.valid[row] != 0 ? static_cast<double>(targets.values[row])
                                   : std::numeric_limits<double>::quiet_NaN();
}

} // namespace rekindle::trainer
