#include "job_costs.h"

#include <rekindle/market/clock.h>
#include <rekindle/market/instruments.h>
#include <rekindle/market/trading_costs.h>
#include <rekindle/trainer/market_data.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rekindle::research {

namespace {

std::vector<std::string> parts_of(const Costs& costs, const std::string& currency) {
    const std::string money = currency.empty() ? "" : " " + currency;
    std::vector<std::string> parts{fmt::format("{:g}{} per point", costs.point_value, money)};
    if (costs.commission > 0)
        parts.push_back(fmt::format("commission {:g}{} per contract and fill", costs.commission, money));
    if (costs.commission_share > 0)
        parts.push_back(
            fmt::format("commission {:g} % of the value for each fill", 100 * costs.commission_share));
    if (costs.slippage > 0)
        parts.push_back(fmt::format("slippage {:g} points", costs.slippage));
    if (costs.slippage_share > 0)
        parts.push_back(fmt::format("slippage {:g} % of the price", 100 * costs.slippage_share));
    parts.push_back(fmt::format("margin {:g} % of the value", 100 * costs.margin_share));
    return parts;
}

} // namespace

JobCosts costs_of(const BacktestJob& job, const trainer::TrainConfig& bars, const TradedSeries& series) {
    const market::InstrumentTable table = bars.instruments.empty()
                                              ? market::InstrumentTable::embedded()
                                              : market::InstrumentTable::load(bars.instruments);
    const market::Instrument* const instrument = trainer::has_instrument(bars) ? &table.get(bars.instrument)
                                                 : bars.instrument == "none"
                                                     ? nullptr
                                                     : table.of_contracts(series.contracts);
    const market::TradingCostsTable list = job.costs.empty() ? market::TradingCostsTable::embedded()
                                                             : market::TradingCostsTable::load(job.costs);
    const market::TradingCosts& typical = list.of(instrument ? instrument->symbol : "");

    // If the user gives one kind of commission or slippage, the typical value of the other kind is not added.
    const bool own_commission = job.commission || job.commission_percent;
    const bool own_slippage = job.slippage_ticks || job.slippage_percent;
    const auto chosen = [](const std::optional<double>& own, bool any, double usual) {
        return own ? *own : any ? 0.0 : usual;
    };
    const double tick = instrument && instrument->tick > 0 ? instrument->tick : series.tick;
    const double ticks = chosen(job.slippage_ticks, own_slippage, typical.slippage_ticks);
    if (ticks > 0 && !(tick > 0))
        throw usage_error("these prices have no tick")
            .at("--slippage-ticks")
            .hint("Use --slippage-percent, or set --tick.");
    JobCosts result;
    result.costs.point_value = job.point_value.value_or(instrument ? instrument->point_value : 1);
    result.costs.commission = chosen(job.commission, own_commission, typical.commission);
    result.costs.commission_share =
        chosen(job.commission_percent, own_commission, typical.commission_percent) / 100;
    result.costs.slippage = ticks * tick;
    result.costs.slippage_share = chosen(job.slippage_percent, own_slippage, typical.slippage_percent) / 100;
    result.costs.margin_share = job.margin_percent.value_or(typical.margin_percent) / 100;
    result.currency = instrument ? instrument->currency : "";
    const bool all_given = own_commission && own_slippage && job.margin_percent;
    result.text = fmt::format("{}: {}{}", instrument ? instrument->symbol : "no instrument in the list",
                              fmt::join(parts_of(result.costs, result.currency), ", "),
                              all_given ? ""
                                        : fmt::format("; typical values of {}, which may differ from yours",
                                                      market::format_date(list.checked())));
    return result;
}

} // namespace rekindle::research
