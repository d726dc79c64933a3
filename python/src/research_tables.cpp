#include "research_tables.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace rekindle::python {

namespace {

using Json = nlohmann::ordered_json;

Column word_column(std::string name, trainer::WordColumn column) {
    std::vector<std::int32_t> indices(column.indices.begin(), column.indices.end());
    return text_column(std::move(name), std::move(indices), std::move(column.words));
}

/// A column of texts that stores each distinct text once.
Column texts_column(std::string name, const std::vector<std::string>& texts) {
    std::map<std::string, std::int32_t> known;
    std::vector<std::string> words;
    std::vector<std::int32_t> indices;
    for (const std::string& text : texts) {
        const auto [found, added] = known.try_emplace(text, static_cast<std::int32_t>(words.size()));
        if (added)
            words.push_back(text);
        indices.push_back(found->second);
    }
    return text_column(std::move(name), std::move(indices), std::move(words));
}

std::string text_of(const Json& value) {
    if (value.is_string())
        return value.get<std::string>();
    if (!value.is_array())
        return value.dump();
    std::string text;
    for (const Json& part : value)
        text += (text.empty() ? "" : ",") + text_of(part);
    return text;
}

/// One column with `value(element)` for each element.
template <class Element, class Value>
Column column_of(std::string name, ColumnType type, std::span<const Element> elements, const Value& value) {
    std::vector<decltype(value(elements.front()))> values;
    values.reserve(elements.size());
    for (const Element& element : elements)
        values.push_back(value(element));
    return own_column(std::move(name), type, std::move(values));
}

/// The values of a setting: numbers if all of them are numbers, otherwise texts as in trials.csv.
Column setting_column(const std::string& key, std::span<const research::Trial> trials) {
    const auto all = [&](auto&& holds) {
        return std::ranges::all_of(trials,
                                   [&](const research::Trial& t) { return holds(t.settings.at(key)); });
    };
    if (all([](const Json& value) { return value.is_number_integer(); }))
        return column_of(key, ColumnType::int64, trials,
                         [&](const auto& t) { return t.settings.at(key).template get<std::int64_t>(); });
    if (all([](const Json& value) { return value.is_number(); }))
        return column_of(key, ColumnType::float64, trials,
                         [&](const auto& t) { return t.settings.at(key).template get<double>(); });
    std::vector<std::string> texts;
    for (const research::Trial& trial : trials)
        texts.push_back(text_of(trial.settings.at(key)));
    return texts_column(key, texts);
}

ColumnType time_type(const research::BacktestOutcome& outcome) {
    return outcome.instruments.front().raw_labels ? ColumnType::label : ColumnType::instant;
}

} // namespace

Table prediction_table(trainer::PredictionTable table) {
    const ColumnType time = table.utc ? ColumnType::instant : ColumnType::label;
    return Table({own_column("known_at", time, std::move(table.known_at)),
                  own_column("session", ColumnType::date, std::move(table.session)),
                  word_column("instrument", std::move(table.instrument)),
                  word_column("fold", std::move(table.fold)), word_column("seed", std::move(table.seed)),
                  own_column("prediction", ColumnType::float64, std::move(table.prediction)),
                  own_column("sigma", ColumnType::float64, std::move(table.sigma)),
                  own_column("outcome", ColumnType::float64, std::move(table.outcome)),
                  own_column("baseline", ColumnType::float64, std::move(table.baseline))});
}

Table trial_table(std::span<const research::Trial> trials) {
    using research::Trial;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    std::vector<Column> columns{
        column_of("trial", ColumnType::int64, trials,
                  [](const Trial& t) { return static_cast<std::int64_t>(t.number) + 1; }),
        column_of("rung", ColumnType::int64, trials, [](const Trial& t) { return t.rung; }),
        column_of("epochs", ColumnType::int64, trials, [](const Trial& t) { return t.epochs; })};
    if (!trials.empty())
        for (const auto& item : trials.front().settings.items())
            columns.push_back(setting_column(item.key(), trials));
    columns.push_back(column_of("loss_saved_percent", ColumnType::float64, trials,
                                [&](const Trial& t) { return t.diverged ? none : t.loss_saved; }));
    columns.push_back(column_of("timing_ratio", ColumnType::float64, trials,
                                [&](const Trial& t) { return t.diverged ? none : t.timing_ratio; }));
    columns.push_back(column_of("diverged", ColumnType::boolean, trials,
                                [](const Trial& t) { return static_cast<std::uint8_t>(t.diverged); }));
    columns.push_back(
        column_of("seconds", ColumnType::float64, trials, [](const Trial& t) { return t.seconds; }));
    return Table(std::move(columns));
}

Table trade_table(const research::BacktestOutcome& outcome) {
    using research::PlacedTrade;
    using research::Trade;
    const std::vector<PlacedTrade> placed = trades_of(outcome);
    const std::span<const PlacedTrade> trades(placed);
    const auto number = [&](const char* name, double Trade::*member) {
        return column_of(name, ColumnType::float64, trades,
                         [=](const PlacedTrade& t) { return t.trade.*member; });
    };
    std::vector<std::string> exits, contracts, instruments;
    for (const PlacedTrade& trade : trades) {
        exits.emplace_back(name_of(trade.trade.exit));
        contracts.push_back(trade.contract());
        instruments.push_back(trade.instrument.name);
    }
    std::vector<Column> columns;
    if (outcome.judged_together())
        columns.push_back(texts_column("instrument", instruments));
    columns.push_back(column_of("entry_known_at", time_type(outcome), trades,
                                [](const PlacedTrade& t) { return t.entry().end; }));
    columns.push_back(column_of("exit_known_at", time_type(outcome), trades,
                                [](const PlacedTrade& t) { return t.exit().end; }));
    columns.push_back(texts_column("contract", contracts));
    for (const auto& [name, member] : {std::pair{"quantity", &Trade::quantity},
                                       {"entry_price", &Trade::entry_price},
                                       {"exit_price", &Trade::exit_price},
                                       {"commission", &Trade::commission},
                                       {"profit", &Trade::profit}})
        columns.push_back(number(name, member));
    columns.push_back(column_of("bars", ColumnType::int64, trades, [](const PlacedTrade& t) {
        return static_cast<std::int64_t>(t.trade.exit_bar - t.trade.entry_bar) + 1;
    }));
    columns.push_back(texts_column("exit", exits));
    return Table(std::move(columns));
}

Table equity_table(const research::BacktestOutcome& outcome) {
    const research::PeriodReturns& own = outcome.judged.periods;
    std::vector<double> drawdown;
    double highest = outcome.judged.evaluation.strategy.capital;
    for (const double equity : own.equity) {
        highest = std::max(highest, equity);
        drawdown.push_back(1 - equity / highest);
    }
    return Table({own_column("date", ColumnType::date, own.dates),
                  own_column("equity", ColumnType::float64, own.equity),
                  own_column("drawdown", ColumnType::float64, std::move(drawdown)),
                  own_column("return", ColumnType::float64, own.strategy),
                  own_column("position", ColumnType::float64, own.position),
                  own_column("market_return", ColumnType::float64, own.market),
                  own_column("buy_and_hold", ColumnType::float64, outcome.judged.buy_and_hold.equity)});
}

} // namespace rekindle::python
