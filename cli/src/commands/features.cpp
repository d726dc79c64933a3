#include "market_input.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/feature_export.h>
#include <rekindle/market/labeled_rows.h>
#include <rekindle/trainer/dataset.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>
#include <vector>

namespace rekindle::cli {

namespace fs = std::filesystem;

namespace {

/// The features of all instruments, ordered by the time at which they become known.
market::FeatureMatrix joined_features(const trainer::TrainConfig& config, MarketInput& input) {
    const Workspace workspace = trainer::workspace_of(config, input.scratch.path().parent_path());
    auto matrices = trainer::build_features(config, input.markets, input.pool, workspace);
    if (config.several_instruments == trainer::SeveralInstruments::no)
        return std::move(matrices.front());
    std::vector<const market::FeatureMatrix*> parts;
    std::vector<std::span<const std::int64_t>> known;
    std::vector<market::RowRange> ranges;
    for (std::size_t i = 0; i < matrices.size(); ++i) {
        for (std::int64_t& time : matrices[i].known_at)
            time = input.markets[i].ends.of(time);
        parts.push_back(&matrices[i]);
        known.emplace_back(matrices[i].known_at);
        ranges.push_back({0, matrices[i].rows()});
    }
    return market::join_matrices(parts, market::order_by_time(known, ranges, workspace), workspace);
}

void write_matrix(const market::FeatureMatrix& matrix, const fs::path& output,
                  std::span<const trainer::MarketData> markets) {
    if (output.extension() != ".npy") {
        const bool raw = markets.front().read.report.stamps.clock == market::Clock::raw;
        std::vector<std::string> instruments;
        if (!matrix.instrument.empty())
            for (const trainer::MarketData& data : markets)
                instruments.push_back(data.instrument);
        market::write_features_csv(output, matrix,
                                   instruments.empty() ? markets.front().ends : market::BarEnds(),
                                   raw ? "" : "Z", instruments);
        return;
    }
    market::write_features_npy(output, matrix, market::NpyType::float64);
    if (!matrix.instrument.empty()) {
        std::string rows;
        for (const std::uint16_t instrument : matrix.instrument)
            rows += markets[instrument].instrument + "\n";
        write_file_atomically(fs::path(output).replace_extension(".instruments.txt"), rows);
    }
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
    trainer::note_unused_vix(config, input.markets.front().read.report, view);
    const market::FeatureMatrix matrix = joined_features(config, input);
    stop_if_requested(input.cancellation);
    for (const std::string& note : matrix.notes)
        view.info(note);
    view.finish();

    write_rejected(trainer::rejected_rows(input.markets), output, view);
    write_matrix(matrix, output, input.markets);
    if (context.messages.json)
        context.result({{"output", output.string()}, {"rows", matrix.rows()}, {"columns", matrix.columns()}});
    else if (!context.messages.quiet)
        context.output.line(fmt::format("{}: {} of {}", output.string(),
                                        counted(static_cast<std::int64_t>(matrix.rows()), "row"),
                                        counted(static_cast<std::int64_t>(matrix.columns()), "feature")));
    return ExitStatus::success;
}

} // namespace rekindle::cli
