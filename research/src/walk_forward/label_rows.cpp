#include <rekindle/base/clock.h>
#include <rekindle/base/text.h>
#include <rekindle/research/fold_data.h>

#include <fmt/format.h>

#include <chrono>

namespace rekindle::research {

ForecastRows label_rows(const trainer::TrainConfig& config, const trainer::MarketData& data, ThreadPool& pool,
                        trainer::ProgressSink& progress, const Workspace& workspace) {
    const auto start = std::chrono::steady_clock::now();
    ForecastRows rows;
    rows.meaning = trainer::target_meaning(config);
    rows.matrix = trainer::build_features(config, data, pool, workspace);
    rows.targets = trainer::build_targets(rows.meaning, rows.matrix, data, workspace);
    rows.scaling = config.scaler;
    for (std::size_t row = 0; row < rows.matrix.rows(); ++row) {
        rows.known_at.push_back(data.ends.of(rows.matrix.known_at[row]));
        rows.target_end.push_back(rows.targets.valid[row] != 0 ? data.ends.of(rows.targets.outcome_at[row])
                                                               : rows.known_at.back());
    }
    for (const std::string& note : rows.matrix.notes)
        progress.info(note);
    progress.stage_ended("Building features", seconds_since(start),
                         fmt::format("{} of {}, {} of them with a target", counted(rows.matrix.rows(), "row"),
                                     counted(rows.matrix.columns(), "feature"),
                                     with_thousands(static_cast<std::int64_t>(rows.targets.usable_rows()))));
    return rows;
}

} // namespace rekindle::research
