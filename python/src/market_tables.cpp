#include "market_tables.h"

#include "prices.h"

#include <rekindle/market/profile_output.h>
#include <rekindle/market/targets.h>
#include <rekindle/market/volume_profile.h>
#include <rekindle/trainer/dataset.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace rekindle::python {

namespace {

std::vector<double> in_points(std::span<const market::Ticks> prices, const PointScale& points) {
    std::vector<double> values(prices.size());
    std::ranges::transform(prices, values.begin(), [&](market::Ticks price) { return points(price); });
    return values;
}

/// The names of contracts as words; the last word stands for sessions that mix contracts.
class ContractWords {
  public:
    explicit ContractWords(const market::BarMetadata& metadata) : words_(metadata.contracts) {
        words_.push_back(market::contract_name(metadata, market::mixed_contracts));
    }
    std::int32_t index(std::uint16_t contract) const noexcept {
        return contract == market::mixed_contracts ? static_cast<std::int32_t>(words_.size()) - 1 : contract;
    }
    Column column(std::vector<std::int32_t> indices) const {
        return text_column("contract", std::move(indices), words_);
    }

  private:
    std::vector<std::string> words_;
};

/// A column with one value for each element of `source`.
template <class Source, class Value>
Column column_of(std::string name, ColumnType type, const std::vector<Source>& source, const Value& value) {
    std::vector<decltype(value(source.front()))> values;
    values.reserve(source.size());
    for (const Source& one : source)
        values.push_back(value(one));
    return own_column(std::move(name), type, std::move(values));
}

std::vector<double> fractions(std::span<const std::int64_t> volumes, double per_unit) {
    std::vector<double> values(volumes.size());
    std::ranges::transform(volumes, values.begin(),
                           [&](std::int64_t volume) { return static_cast<double>(volume) / per_unit; });
    return values;
}

/// The fixed-point value of one traded unit in the volumes of a profile.
double profile_units(const market::BarMetadata& metadata) {
    return static_cast<double>(metadata.volume_per_unit()) *
           static_cast<double>(std::int64_t{1} << market::volume_fraction_bits);
}

market::VolumeProfile profile_of(const trainer::MarketData& data, std::size_t session) {
    return market::session_profile(data.read.bars, data.plan.sessions[session], data.profile_rules);
}

/// For each row, the end of the newest bar that it uses.
std::vector<std::int64_t> known_at(const trainer::MarketData& data, std::span<const std::int64_t> times) {
    std::vector<std::int64_t> ends(times.size());
    std::ranges::transform(times, ends.begin(), [&](std::int64_t time) { return data.ends.of(time); });
    return ends;
}

} // namespace

ColumnType time_type(const trainer::MarketData& data) {
    return data.session_rules.raw_labels ? ColumnType::label : ColumnType::instant;
}

Table bar_table(const market::BarTable& bars, ColumnType time) {
    const market::BarColumns& columns = bars.columns();
    const market::BarMetadata& metadata = bars.metadata();
    const PointScale points(metadata.tick);
    const auto owner = std::make_shared<const market::BarTable>(bars);
    std::vector<Column> result;
    result.push_back(view_column("time", time, columns.time, owner));
    for (const auto& [name, prices] : {std::pair{"open", columns.open},
                                       {"high", columns.high},
                                       {"low", columns.low},
                                       {"close", columns.close}})
        result.push_back(own_column(name, ColumnType::float64, in_points(prices, points)));
    if (metadata.volume_decimals == 0)
        result.push_back(view_column("volume", ColumnType::int64, columns.volume, owner));
    else
        result.push_back(
            own_column("volume", ColumnType::float64,
                       fractions(columns.volume, static_cast<double>(metadata.volume_per_unit()))));
    const ContractWords words(metadata);
    std::vector<std::int32_t> contracts(columns.size());
    std::ranges::transform(columns.contract, contracts.begin(),
                           [&](std::uint16_t contract) { return words.index(contract); });
    result.push_back(words.column(std::move(contracts)));
    if (!columns.vix.empty())
        result.push_back(view_column("vix", ColumnType::float32, columns.vix, owner));
    return Table(std::move(result));
}

Table session_table(const trainer::MarketData& data) {
    using Summary = market::SessionSummary;
    const market::BarMetadata& metadata = data.read.bars.metadata();
    const std::vector<Summary>& sessions = data.summaries;
    const PointScale points(metadata.tick);
    const ContractWords words(metadata);
    std::vector<Column> columns;
    const auto add = [&](const char* name, ColumnType type, const auto& value) {
        columns.push_back(column_of(name, type, sessions, value));
    };
    const auto add_price = [&](const char* name, const auto& ticks) {
        add(name, ColumnType::float64,
            [&](const Summary& session) { return points(static_cast<double>(ticks(session))); });
    };
    add("date", ColumnType::date, [](const Summary& s) { return s.date; });
    add("known_at", time_type(data), [&](const Summary& s) { return data.ends.of(s.end_time); });
    std::vector<std::int32_t> contracts;
    for (const Summary& session : sessions)
        contracts.push_back(words.index(session.contract));
    columns.push_back(words.column(std::move(contracts)));
    add("first_bar", ColumnType::int64,
        [](const Summary& s) { return static_cast<std::int64_t>(s.first_bar); });
    add("bars", ColumnType::int64, [](const Summary& s) { return static_cast<std::int64_t>(s.bars); });
    add_price("open", [](const Summary& s) { return s.open; });
    add_price("high", [](const Summary& s) { return s.high; });
    add_price("low", [](const Summary& s) { return s.low; });
    add_price("close", [](const Summary& s) { return s.close; });
    add("volume", ColumnType::float64, [](const Summary& s) {
        return static_cast<double>(s.total_volume) / static_cast<double>(s.volume_per_unit);
    });
    add_price("vwap", [](const Summary& s) { return s.vwap; });
    add_price("point_of_control", [](const Summary& s) { return s.point_of_control; });
    add_price("value_area_low", [](const Summary& s) { return s.value_area_low; });
    add_price("value_area_high", [](const Summary& s) { return s.value_area_high; });
    add_price("roll_offset", [](const Summary& s) { return s.roll_offset; });
    columns.push_back(column_of("half_day", ColumnType::boolean, data.plan.sessions,
                                [](const market::Session& s) { return std::uint8_t{s.half_day}; }));
    if (!data.read.bars.columns().vix.empty())
        add("vix", ColumnType::float64, [](const Summary& s) { return s.vix; });
    return Table(std::move(columns));
}

Table profile_table(const trainer::MarketData& data, std::size_t session) {
    const market::VolumeProfile profile = profile_of(data, session);
    const PointScale points(profile.tick());
    std::vector<double> prices(profile.volumes().size());
    for (std::size_t i = 0; i < prices.size(); ++i)
        prices[i] = points(profile.lowest() + static_cast<double>(i));
    return Table({own_column("price", ColumnType::float64, std::move(prices)),
                  own_column("volume", ColumnType::float64,
                             fractions(profile.volumes(), profile_units(data.read.bars.metadata())))});
}

Table all_profiles_table(const trainer::MarketData& data) {
    const double units = profile_units(data.read.bars.metadata());
    std::vector<std::int64_t> sessions;
    std::vector<std::int32_t> dates;
    std::vector<double> prices, volumes;
    for (std::size_t i = 0; i < data.plan.sessions.size(); ++i) {
        const market::VolumeProfile profile = profile_of(data, i);
        const PointScale points(profile.tick());
        double level = profile.empty() ? 0 : profile.lowest();
        for (const std::int64_t volume : profile.volumes()) {
            sessions.push_back(static_cast<std::int64_t>(i));
            dates.push_back(data.plan.sessions[i].date);
            prices.push_back(points(level++));
            volumes.push_back(static_cast<double>(volume) / units);
        }
    }
    return Table({own_column("session", ColumnType::int64, std::move(sessions)),
                  own_column("date", ColumnType::date, std::move(dates)),
                  own_column("price", ColumnType::float64, std::move(prices)),
                  own_column("volume", ColumnType::float64, std::move(volumes))});
}

NodePrices node_prices(const trainer::MarketData& data, std::size_t session) {
    const market::VolumeProfile profile = profile_of(data, session);
    if (profile.empty())
        return {};
    const market::VolumeNodes nodes = profile.nodes();
    const PointScale points(profile.tick());
    return {in_points(nodes.high, points), in_points(nodes.low, points)};
}

Features feature_table(const trainer::TrainConfig& config, const trainer::MarketData& data,
                       ThreadPool& pool) {
    const auto matrix =
        std::make_shared<const market::FeatureMatrix>(trainer::build_features(config, data, pool));
    const std::span<const std::int32_t> dates(matrix->dates);
    std::vector<Column> columns{view_column("date", ColumnType::date, dates, matrix),
                                own_column("known_at", time_type(data),
                                           known_at(data, std::span<const std::int64_t>(matrix->known_at)))};
    for (std::size_t i = 0; i < matrix->columns(); ++i) {
        Column column = view_column(matrix->names[i], ColumnType::float64,
                                    std::span(matrix->values.data() + i, matrix->rows()), matrix);
        column.stride = matrix->columns() * sizeof(double);
        columns.push_back(std::move(column));
    }
    return {matrix, Table(std::move(columns))};
}

Table target_table(const trainer::TrainConfig& config, const trainer::MarketData& data, ThreadPool& pool) {
    const trainer::TargetMeaning meaning = trainer::target_meaning(config);
    const market::FeatureMatrix matrix = trainer::build_features(config, data, pool);
    const market::Targets targets = trainer::build_targets(meaning, matrix, data);
    std::vector<float> values(targets.values.data(), targets.values.data() + matrix.rows());
    for (std::size_t row = 0; row < values.size(); ++row)
        if (targets.valid[row] == 0)
            values[row] = std::numeric_limits<float>::quiet_NaN();
    return Table(
        {own_column("date", ColumnType::date,
                    std::vector<std::int32_t>(matrix.dates.data(), matrix.dates.data() + matrix.rows())),
         own_column("known_at", time_type(data),
                    known_at(data, std::span<const std::int64_t>(matrix.known_at))),
         own_column("target", ColumnType::float32, std::move(values))});
}

} // namespace rekindle::python
