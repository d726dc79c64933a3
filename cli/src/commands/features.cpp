#include "market_input.h"

#include <rekindle/base/file.h>
#include <rekindle/base/text.h>
#include <rekindle/market/feature_export.h>
#include <rekindle/trainer/dataset.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rekindle::cli {

namespace fs = std::filesystem;

namespace {

void write_matrix(const market::FeatureMatrix& matrix, const fs::path& output,
                  const trainer::MarketData& data) {
    if (output.extension() != ".npy") {
        const bool raw = data.read.report.stamps.clock == market::Clock::raw;
        market::write_features_csv(output, matrix, data.ends, raw ? "" : "Z");
        return;
    }
    market::write_features_npy(output, matrix, market::NpyType::float64);
    std::string names;
    for (const std::string& name : matrix.names)
        names += name + "\n";
    write_file_atomically(fs::path(output).replace_extension(".columns.txt"), names);
}

} // namespace

ExitStatus run_features(Context& context) {
    ProgressView view(context.errors, context.errors, context.messages);
    const EffectiveConfig effective = context.config(view);
    if (printed_config(context, effective.config))
        return ExitStatus::success;
    const fs::path output = context.line.text("output");
    require_other_file(output, effective.config);
    const trainer::TrainConfig config = with_instrument(effective, view);
    MarketInput input(context, config, view);
    const trainer::MarketData& data = input.data;
    trainer::note_unused_vix(config, data.read.report, view);
    const market::FeatureMatrix matrix = trainer::build_features(
        config, data, input.pool, trainer::workspace_of(config, input.scratch.path().parent_path()));
    stop_if_requested(input.cancellation);
    for (const std::string& note : matrix.notes)
        view.info(note);
    view.finish();

    write_rejected(data.read.rejected, output, view);
    write_matrix(matrix, output, data);
    if (context.messages.json)
        context.result({{"output", output.string()}, {"rows", matrix.rows()}, {"columns", matrix.columns()}});
    else if (!context.messages.quiet)
        context.output.line(fmt::format("{}: {} of {}", output.string(),
                                        counted(static_cast<std::int64_t>(matrix.rows()), "row"),
                                        counted(static_cast<std::int64_t>(matrix.columns()), "feature")));
    return ExitStatus::success;
}

} // namespace rekindle::cli
