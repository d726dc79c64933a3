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

double training_error(const mlp::Engine& engine, const Dataset& set) {
    const mlp::Samples samples = set.train();
    const std::size_t rows = std::min(samples.count, error_rows), width = engine.model().inputs;
    std::vector<float> inputs;
    std::vector<std::size_t> chosen;
    inputs.reserve(rows * width);
    for (std::size_t i = 0; i < rows; ++i) {
        chosen.push_back(samples.count * i / rows);
        const float* row = samples.inputs + chosen.back() * samples.stride;
        inputs.insert(inputs.end(), row, row + width);
    }
    std::vector<double> predicted = predict_values(engine, set.meaning, inputs, rows);
    if (!set.instruments.empty())
        for (std::size_t i = 0; i < rows; ++i)
            predicted[i] = set.meaning_of(set.split.train_begin + chosen[i])
                               .outcome(set.meaning.network_target(predicted[i]));
    double squares = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        const double actual = set.targets.values[set.split.train_begin + chosen[i]];
        squares += (actual - predicted[i]) * (actual - predicted[i]);
    }
    set.rows->inputs.release(0, set.rows->inputs.size());
    return std::sqrt(squares / static_cast<double>(rows));
}

ForecastRecord forecast_record(const Dataset& set, std::uint64_t seed, const mlp::Engine& engine) {
    return {seed, set.known[set.split.validation_begin], set.known[set.split.validation_end - 1],
            set.training_mean(), training_error(engine, set)};
}

double outcome_of(const market::Targets& targets, std::size_t row) {
    return targets.valid[row] != 0 ? static_cast<double>(targets.values[row])
                                   : std::numeric_limits<double>::quiet_NaN();
}

} // namespace rekindle::trainer
