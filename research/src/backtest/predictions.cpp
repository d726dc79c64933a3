#include "csv_table.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/table_file.h>
#include <rekindle/research/signals.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace rekindle::research {

namespace {

/// An option and the column from which it chooses one of several series of predictions.
struct Choice {
    std::string_view option;
    std::string PredictionRow::*column;
};

std::set<std::string> values_of(std::span<const PredictionRow> rows, std::string PredictionRow::*column) {
    std::set<std::string> values;
    for (const PredictionRow& row : rows)
        values.insert(row.*column);
    return values;
}

/// Keeps the rows whose column has this value.
void keep(std::vector<PredictionRow>& rows, const Choice& choice, const std::string& value) {
    const std::set<std::string> values = values_of(rows, choice.column);
    std::erase_if(rows, [&](const PredictionRow& row) { return row.*choice.column != value; });
    if (rows.empty())
        throw usage_error(fmt::format("no prediction has the {} \"{}\"", choice.option.substr(2), value))
            .at(std::string(choice.option))
            .expected(fmt::format("one of {}", fmt::join(values, ", ")));
}

Error several_rows(std::span<const PredictionRow> rows, std::span<const Choice> choices) {
    Error error = usage_error("the file has several predictions for one instant");
    for (const Choice& choice : choices) {
        const auto values = values_of(rows, choice.column);
        if (values.size() > 1)
            return std::move(
                error.expected(fmt::format("{} with one of {}", choice.option, fmt::join(values, ", "))));
    }
    return std::move(error.expected("one row for each known_at"));
}

} // namespace

std::vector<PredictionRow> parse_predictions(std::string_view csv, const std::string& where) {
    std::vector<PredictionRow> rows;
    read_csv_rows(csv, where, {"known_at", "prediction"}, [&](const CsvRow& row) {
        PredictionRow prediction{.known_at = row.instant("known_at"),
                                 .instrument = std::string(row.text("instrument")),
                                 .fold = std::string(row.text("fold")),
                                 .seed = std::string(row.text("seed")),
                                 .prediction = row.number("prediction"),
                                 .outcome = row.number("outcome")};
        if (!std::isnan(prediction.prediction))
            rows.push_back(std::move(prediction));
    });
    if (rows.empty())
        throw usage_error("the file has no predictions").at(where);
    return rows;
}

std::vector<PredictionRow> read_predictions(const std::filesystem::path& path) {
    return parse_predictions(market::table_text(path), path.string());
}

std::vector<PredictionRow> select_predictions(std::vector<PredictionRow> rows,
                                              const PredictionFilter& filter) {
    const Choice choices[] = {{"--predictions-of", &PredictionRow::instrument},
                              {"--fold", &PredictionRow::fold},
                              {"--network", &PredictionRow::seed}};
    if (!filter.instrument.empty())
        keep(rows, choices[0], filter.instrument);
    if (!filter.fold.empty())
        keep(rows, choices[1], filter.fold);
    if (!filter.seed.empty())
        keep(rows, choices[2], filter.seed);
    else if (const auto seeds = values_of(rows, &PredictionRow::seed);
             seeds.size() > 1 && seeds.contains("mean"))
        keep(rows, choices[2], "mean");
    std::ranges::stable_sort(rows, {}, &PredictionRow::known_at);
    if (std::ranges::adjacent_find(rows, {}, &PredictionRow::known_at) != rows.end())
        throw several_rows(rows, choices);
    return rows;
}

bool are_probabilities(std::span<const PredictionRow> rows) {
    bool any_outcome = false;
    for (const PredictionRow& row : rows) {
        any_outcome = any_outcome || !std::isnan(row.outcome);
        if (!std::isnan(row.outcome) && row.outcome != 0 && row.outcome != 1)
            return false;
        if (row.prediction < 0 || row.prediction > 1)
            return false;
    }
    return any_outcome;
}

std::vector<Decision> decisions_from(std::span<const PredictionRow> rows, const PredictionRule& rule,
                                     const TradedSeries& series) {
    const std::vector<TradedBar>& bars = series.bars;
    std::vector<Decision> decisions;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::int64_t instant = rows[i].known_at;
        // The first bar that is not over yet.
        const auto next = std::ranges::upper_bound(bars, instant, {}, &TradedBar::end);
        if (next == bars.begin())
            continue;
        const double close = std::prev(next)->close;
        const double above = rows[i].prediction - rule.center;
        double target_position = above > rule.threshold ? 1 : above < -rule.threshold ? -1 : 0;
        if ((target_position > 0 && rule.direction == Direction::short_only) ||
            (target_position < 0 && rule.direction == Direction::long_only))
            target_position = 0;
        Decision decision{.known_at = instant, .target_position = target_position};
        if (target_position != 0 && rule.stop_loss > 0)
            decision.stop_loss = close - target_position * rule.stop_loss * std::abs(close);
        if (target_position != 0 && rule.take_profit > 0)
            decision.take_profit = close + target_position * rule.take_profit * std::abs(close);
        decisions.push_back(decision);
        if (rule.hold == 0 || target_position == 0)
            continue;
        const auto filled = std::ranges::lower_bound(bars, instant, {}, &TradedBar::begin);
        if (bars.end() - filled < static_cast<std::ptrdiff_t>(rule.hold))
            continue;
        const std::int64_t ends = filled[static_cast<std::ptrdiff_t>(rule.hold) - 1].end;
        if (i + 1 == rows.size() || rows[i + 1].known_at > ends)
            decisions.push_back({.known_at = ends});
    }
    return decisions;
}

} // namespace rekindle::research
