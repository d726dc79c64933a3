#pragma once
/// Rows of features and targets, with or without a planted edge.

#include <rekindle/base/philox.h>
#include <rekindle/research/walk_forward.h>
#include <rekindle/trainer/network.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rekindle::research::planted {

struct PlantedRows {
    std::size_t rows = 400, columns = 4;
    double r_squared = 0; ///< share of the targets' variance that the first feature explains
    std::uint64_t seed = 1;
    bool direction = false;
    std::size_t horizon = 1; ///< number of rows after which a target ends

    /// Row i is known at i hours. The last `horizon` rows have no target.
    ForecastRows make() const {
        PhiloxStream random(seed, RandomPurpose::test);
        ForecastRows result;
        result.matrix.values = ScratchArray<double>(rows * columns, {});
        result.matrix.source = ScratchArray<std::size_t>(rows, {});
        result.matrix.dates = ScratchArray<std::int32_t>(rows, {});
        result.targets.values = ScratchArray<float>(rows, {});
        result.targets.valid = ScratchArray<std::uint8_t>(rows, {});
        result.meaning.kind = direction ? market::TargetKind::direction : market::TargetKind::next_return;
        result.meaning.horizon = horizon;
        result.meaning.loss.kind =
            direction ? mlp::LossSpec::Kind::bce_with_logits : mlp::LossSpec::Kind::mse;
        for (std::size_t c = 0; c < columns; ++c)
            result.matrix.names.push_back("feature_" + std::to_string(c));
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t c = 0; c < columns; ++c)
                result.matrix.values[row * columns + c] = random.next_normal();
            const double noise = random.next_normal();
            const double signal = result.matrix.values[row * columns];
            const double move = 0.01 * (std::sqrt(r_squared) * signal + std::sqrt(1 - r_squared) * noise);
            result.matrix.dates[row] = static_cast<std::int32_t>(row / 24);
            result.matrix.source[row] = row;
            result.known_at.push_back(3600 * static_cast<std::int64_t>(row));
            result.target_end.push_back(3600 * static_cast<std::int64_t>(row + horizon));
            result.targets.valid[row] = row + horizon < rows ? 1 : 0;
            result.targets.values[row] = static_cast<float>(direction ? (move > 0 ? 1 : 0) : move);
        }
        return result;
    }
};

inline trainer::TrainConfig small_config() {
    trainer::TrainConfig config;
    config.hidden_layers = {8};
    config.dropout_rate = 0;
    config.epochs = 3;
    config.batch_size = 16;
    config.learning_rate = 3e-3;
    config.schedule = mlp::ScheduleSpec::Kind::constant;
    return config;
}

/// Trains on the CPU.
inline FoldForecasts forecast_on_cpu(const ForecastRows& rows, std::span<const Fold> folds,
                                     const trainer::TrainConfig& config, std::size_t threads = 1,
                                     std::size_t block_bytes = std::size_t{256} << 20,
                                     JobStore* store = nullptr,
                                     const CancellationToken& cancellation = CancellationToken()) {
    ThreadPool pool(threads);
    trainer::NullProgressSink progress;
    const auto make_population = [&](const mlp::ModelDescription& model,
                                     const std::vector<mlp::TrainingSpec>& members,
                                     double) { return mlp::cpu_population(model, members, threads); };
    std::vector<std::vector<std::size_t>> paths;
    for (const Fold& fold : folds)
        paths.emplace_back(fold.test.size(), 0);
    return forecast_folds(rows, folds, paths, config, make_population, pool, store, progress, cancellation,
                          block_bytes);
}

} // namespace rekindle::research::planted
