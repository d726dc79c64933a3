#include <rekindle/base/clock.h>
#include <rekindle/base/text.h>
#include <rekindle/market/labeled_rows.h>
#include <rekindle/research/fold_data.h>

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace rekindle::research {

namespace {

/// The rows of one instrument.
struct Part {
    market::FeatureMatrix matrix;
    market::Targets targets;
    std::vector<std::int64_t> known_at, target_end;
};

Part part_of(const trainer::TargetMeaning& meaning, market::FeatureMatrix matrix,
             const trainer::MarketData& data, const Workspace& workspace) {
    Part part;
    part.targets = trainer::build_targets(meaning, matrix, data, workspace);
    for (std::size_t row = 0; row < matrix.rows(); ++row) {
        part.known_at.push_back(data.ends.of(matrix.known_at[row]));
        part.target_end.push_back(part.targets.valid[row] != 0 ? data.ends.of(part.targets.outcome_at[row])
                                                               : part.known_at.back());
    }
    part.matrix = std::move(matrix);
    return part;
}

template <class T, class Member>
ScratchArray<T> gathered(const std::vector<Part>& parts, std::span<const market::RowPlace> places,
                         const Workspace& workspace, Member member) {
    std::vector<std::span<const T>> columns;
    for (const Part& part : parts)
        columns.emplace_back(member(part));
    return market::gather<T>(places, columns, 1, workspace);
}

/// Joins the rows of several instruments in the order of time.
void join(const std::vector<Part>& parts, const Workspace& workspace, ForecastRows& rows) {
    std::vector<std::span<const std::int64_t>> known;
    std::vector<RowRange> ranges;
    std::vector<const market::FeatureMatrix*> matrices;
    for (const Part& part : parts) {
        known.emplace_back(part.known_at);
        ranges.push_back({0, part.known_at.size()});
        matrices.push_back(&part.matrix);
    }
    const auto places = market::order_by_time(known, ranges, workspace);
    rows.matrix = market::join_matrices(matrices, places, workspace);
    rows.targets.values =
        gathered<float>(parts, places, workspace, [](const Part& p) { return std::span(p.targets.values); });
    rows.targets.valid = gathered<std::uint8_t>(parts, places, workspace,
                                                [](const Part& p) { return std::span(p.targets.valid); });
    rows.targets.outcome_at = gathered<std::int64_t>(
        parts, places, workspace, [](const Part& p) { return std::span(p.targets.outcome_at); });
    for (const market::RowPlace& place : places) {
        rows.known_at.push_back(parts[place.part].known_at[place.row]);
        rows.target_end.push_back(parts[place.part].target_end[place.row]);
    }
}

} // namespace

ForecastRows label_rows(const trainer::TrainConfig& config, std::span<const trainer::MarketData> markets,
                        ThreadPool& pool, trainer::ProgressSink& progress, const Workspace& workspace) {
    const auto start = std::chrono::steady_clock::now();
    ForecastRows rows;
    rows.meaning = trainer::target_meaning(config);
    rows.scaling = config.scaler;
    auto matrices = trainer::build_features(config, markets, pool, workspace);
    std::vector<Part> parts;
    for (std::size_t i = 0; i < markets.size(); ++i)
        parts.push_back(part_of(rows.meaning, std::move(matrices[i]), markets[i], workspace));
    if (config.several_instruments == trainer::SeveralInstruments::no) {
        Part& only = parts.front();
        rows.matrix = std::move(only.matrix);
        rows.targets = std::move(only.targets);
        rows.known_at = std::move(only.known_at);
        rows.target_end = std::move(only.target_end);
    } else {
        for (const trainer::MarketData& data : markets)
            rows.instruments.push_back(data.instrument);
        rows.scale_by = config.scale_by;
        rows.instrument_input = config.instrument_input;
        join(parts, workspace, rows);
    }
    for (const std::string& note : rows.matrix.notes)
        progress.info(note);
    progress.stage_ended(
        "Building features", seconds_since(start),
        fmt::format("{}{} of {}, {} of them with a target", counted(rows.matrix.rows(), "row"),
                    rows.instruments.empty() ? "" : " of " + counted(markets.size(), "instrument"),
                    counted(rows.matrix.columns(), "feature"),
                    with_thousands(static_cast<std::int64_t>(rows.targets.usable_rows()))));
    return rows;
}

} // namespace rekindle::research
