#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/embedded.h>
#include <rekindle/market/trading_costs.h>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace rekindle::market {

namespace {

constexpr std::string_view costs_format = "rekindle-trading-costs/1";
constexpr std::string_view other_instruments = "OTHER";

Error costs_error(const std::string& where, const YAML::Mark& mark, std::string what) {
    return usage_error(std::move(what)).at(fmt::format("{}:{}", where, mark.line + 1));
}

double cost_of(const YAML::Node& value, const std::string& key, const std::string& where) {
    double number = -1;
    if (!value.IsScalar() || !YAML::convert<double>::decode(value, number) || !(number >= 0) ||
        !std::isfinite(number))
        throw costs_error(where, value.Mark(), key + " is wrong").expected("a number of at least 0");
    return number;
}

TradingCosts read_costs(const std::string& symbol, const YAML::Node& node, const std::string& where) {
    if (!node.IsMap())
        throw costs_error(where, node.Mark(), symbol + " is not a map");
    TradingCosts costs;
    costs.symbol = symbol;
    for (const auto& entry : node) {
        const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
        if (key == "commission")
            costs.commission = cost_of(entry.second, key, where);
        else if (key == "commission_percent")
            costs.commission_percent = cost_of(entry.second, key, where);
        else if (key == "slippage_ticks")
            costs.slippage_ticks = cost_of(entry.second, key, where);
        else if (key == "slippage_percent")
            costs.slippage_percent = cost_of(entry.second, key, where);
        else if (key == "margin_percent")
            costs.margin_percent = cost_of(entry.second, key, where);
        else if (key == "source" && entry.second.IsScalar())
            costs.source = entry.second.Scalar();
        else
            throw costs_error(where, entry.first.Mark(), fmt::format("\"{}\" is not a known key", key))
                .expected(
                    "commission, commission_percent, slippage_ticks, slippage_percent, margin_percent, or "
                    "source");
    }
    if (costs.source.empty())
        throw costs_error(where, node.Mark(), symbol + " has no source");
    return costs;
}

} // namespace

TradingCostsTable TradingCostsTable::parse(std::string_view yaml, const std::string& where) {
    YAML::Node root;
    try {
        root = YAML::Load(std::string(yaml));
    } catch (const YAML::Exception& exception) {
        throw costs_error(where, exception.mark, "not YAML: " + exception.msg);
    }
    if (!root.IsMap() || !root["format"] || !root["format"].IsScalar() ||
        root["format"].Scalar() != costs_format || !root["costs"] || !root["costs"].IsMap())
        throw usage_error("not a list of trading costs")
            .at(where)
            .expected(fmt::format("format: {}, checked, and costs", costs_format));
    TradingCostsTable table;
    if (!root["checked"] || !root["checked"].IsScalar() ||
        !parse_date(root["checked"].Scalar(), table.checked_))
        throw usage_error("the list has no date").at(where).expected("checked: YYYY-MM-DD");
    bool has_others = false;
    for (const auto& entry : root["costs"]) {
        const std::string symbol = entry.first.IsScalar() ? entry.first.Scalar() : "";
        const bool others = symbol == other_instruments;
        if (symbol.empty() || (others ? has_others : !table.of(symbol).symbol.empty()))
            throw costs_error(where, entry.first.Mark(), "\"" + symbol + "\" is empty or appears twice");
        TradingCosts costs = read_costs(symbol, entry.second, where);
        if (others) {
            costs.symbol.clear();
            table.others_ = std::move(costs);
            has_others = true;
        } else {
            table.costs_.push_back(std::move(costs));
        }
    }
    if (!has_others)
        throw usage_error("the list has no row for other instruments").at(where).expected("a symbol OTHER");
    return table;
}

TradingCostsTable TradingCostsTable::load(const std::filesystem::path& path) {
    return parse(read_file(path), path.string());
}

const TradingCostsTable& TradingCostsTable::embedded() {
    static const TradingCostsTable table =
        parse(embedded_file("trading-costs.yaml"), "embedded trading-costs.yaml");
    return table;
}

const TradingCosts& TradingCostsTable::of(std::string_view symbol) const {
    const auto found = std::ranges::find_if(
        costs_, [&](const TradingCosts& costs) { return lower_case(costs.symbol) == lower_case(symbol); });
    return found == costs_.end() ? others_ : *found;
}

} // namespace rekindle::market
