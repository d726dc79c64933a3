#include "instrument_messages.h"

#include <rekindle/base/clock.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/find_instruments.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <tuple>

namespace rekindle::trainer {

namespace {

using Clock = std::chrono::steady_clock;

/// The tick of this instrument: "ES=0.25,NQ=0.25" gives ES "0.25" and others "auto". A setting without a name
/// is the tick of all instruments.
std::string tick_of(const std::string& setting, const std::string& instrument) {
    if (setting.find('=') == std::string::npos)
        return setting;
    return value_for(setting, instrument).value_or("auto");
}

/// Throws Error (usage) unless every name in a setting NAME=VALUE,… belongs to an instrument. `what` says
/// what the values are.
void check_names(const std::string& setting, const char* option, const char* what, const char* value,
                 const std::vector<market::InstrumentFiles>& instruments) {
    if (setting.find('=') == std::string::npos)
        return;
    std::vector<std::string> names;
    for (const market::InstrumentFiles& instrument : instruments)
        names.push_back(instrument.name);
    for (std::string_view rest = setting; !rest.empty();) {
        const std::string_view one = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        const std::string name(trim(one.substr(0, one.find('='))));
        if (one.find('=') == std::string_view::npos || std::ranges::find(names, name) == names.end())
            throw usage_error(fmt::format("\"{}\" does not give the {} of an instrument", one, what))
                .at(option)
                .expected(fmt::format("NAME={} with one of the names {}", value, fmt::join(names, ", ")));
    }
}

/// The column file of each instrument: "bars.columns" becomes "bars-0.columns".
std::filesystem::path numbered(const std::filesystem::path& file, std::size_t number) {
    if (file.empty())
        return file;
    return file.parent_path() /
           fmt::format("{}-{}{}", file.stem().string(), number, file.extension().string());
}

MarketData load_instrument(const InstrumentBars& instrument, ThreadPool& pool, ProgressSink& progress,
                           const CancellationToken& cancellation, LastSession last) {
    const TrainConfig& config = instrument.config;
    try {
        MarketData data = load_market_data(config, instrument.column_file, pool, progress, cancellation, last,
                                           instrument.read_bars);
        data.instrument = instrument.name;
        data.symbol = has_instrument(config) ? config.instrument : "";
        return data;
    } catch (const Error& error) {
        throw error_of_instrument(instrument.name, error);
    }
}

/// Throws Error (usage) unless all bars have the same length, because a row must mean the same for each
/// instrument.
void require_same_bar_length(const std::vector<MarketData>& markets) {
    const MarketData& first = markets.front();
    const auto length = market::BarLength::of(first.read.report.spacing);
    for (const MarketData& data : markets) {
        const bool dates = data.read.bars.metadata().dates_only;
        if (dates == first.read.bars.metadata().dates_only &&
            market::has_length(data.read.report.spacing, length) != market::SameLength::no)
            continue;
        const auto text = [](const MarketData& one) {
            return market::bar_length_text(market::BarLength::of(one.read.report.spacing).seconds);
        };
        throw usage_error(fmt::format("{} has bars of {}, {} has bars of {}", first.instrument, text(first),
                                      data.instrument, text(data)))
            .at("--several-instruments")
            .expected("bars of one length for all instruments")
            .hint("Give files with bars of one length, or train one model for each length.");
    }
}

std::string summary_of(const std::vector<MarketData>& markets) {
    std::uint64_t bars = 0, sessions = 0, rolls = 0;
    for (const MarketData& data : markets) {
        bars += data.read.report.rows;
        sessions += data.summaries.size();
        rolls += data.plan.rolls.size();
    }
    return fmt::format("{}, {}, {}, {}", counted(markets.size(), "instrument"), counted(bars, "bar"),
                       counted(sessions, "session"), counted(rolls, "roll"));
}

std::string instrument_line(const MarketData& data) {
    std::vector<std::string> contracts;
    for (const std::string& contract : data.read.bars.metadata().contracts)
        if (!contract.empty() && contract != data.instrument)
            contracts.push_back(contract);
    constexpr std::size_t listed = 4;
    const std::size_t more = contracts.size() > listed ? contracts.size() - listed : 0;
    contracts.resize(contracts.size() - more);
    std::string of;
    if (!contracts.empty())
        of = fmt::format(" (contracts {}{})", fmt::join(contracts, ", "),
                         more > 0 ? fmt::format(" and {} more", more) : "");
    return fmt::format(
        "{}{}: {} from {} to {}, tick {}{}", data.instrument, of, counted(data.summaries.size(), "session"),
        market::format_date(data.summaries.front().date), market::format_date(data.summaries.back().date),
        market::tick_text(data.read.report),
        data.symbol.empty() ? ""
                            : fmt::format("; hours of {}: {}", data.symbol, hours_text(data.session_rules)));
}

void report_instruments(const std::vector<MarketData>& markets, ProgressSink& progress) {
    constexpr std::size_t listed = 20;
    for (std::size_t i = 0; i < std::min(listed, markets.size()); ++i)
        progress.info(instrument_line(markets[i]));
    if (markets.size() > listed)
        progress.info(fmt::format("and {}", counted(markets.size() - listed, "more instrument")));
}

} // namespace

std::vector<InstrumentBars> find_instruments(const TrainConfig& config,
                                             const std::filesystem::path& column_file, ThreadPool& pool,
                                             const CancellationToken& cancellation,
                                             const BarReader& read_bars) {
    if (config.several_instruments == SeveralInstruments::no)
        return {{"", config, column_file, read_bars}};
    TrainConfig all = config;
    if (all.tick.find('=') != std::string::npos)
        all.tick = "auto";
    market::ReadOptions options = read_options(all, column_file);
    options.tables = read_bars.tables;
    const auto by = config.several_instruments == SeveralInstruments::by_root ? market::InstrumentsBy::root
                                                                              : market::InstrumentsBy::name;
    const auto found = market::find_instruments(options, by, pool, cancellation);
    check_names(config.tick, "--tick", "tick", "SIZE", found);
    check_names(config.instrument, "--instrument", "symbol", "SYMBOL", found);
    std::vector<InstrumentBars> instruments;
    for (const market::InstrumentFiles& files : found) {
        InstrumentBars& instrument = instruments.emplace_back();
        instrument.name = files.name;
        instrument.config = config_of_instrument(config, files.name, files.contracts, files.files);
        instrument.config.tick = tick_of(config.tick, files.name);
        instrument.column_file = numbered(column_file, instruments.size() - 1);
        instrument.read_bars = [files, &read_bars](const market::ReadOptions& requested, auto&&... others) {
            return read_bars(files.options(requested), others...);
        };
    }
    return instruments;
}

std::vector<MarketData> load_markets(const TrainConfig& config, const std::filesystem::path& column_file,
                                     ThreadPool& pool, ProgressSink& progress,
                                     const CancellationToken& cancellation, LastSession last,
                                     const BarReader& read_bars,
                                     const std::map<std::string, std::string>& usual_ticks) {
    const auto start = Clock::now();
    std::vector<MarketData> markets;
    auto instruments = find_instruments(config, column_file, pool, cancellation, read_bars);
    if (config.several_instruments == SeveralInstruments::no) {
        markets.push_back(load_instrument(instruments.front(), pool, progress, cancellation, last));
        return markets;
    }
    InstrumentMessages messages(progress);
    for (InstrumentBars& instrument : instruments) {
        if (const auto usual = usual_ticks.find(instrument.name);
            instrument.config.tick == "auto" && usual != usual_ticks.end())
            instrument.config.tick = usual->second;
        messages.begin(instrument.name);
        markets.push_back(load_instrument(instrument, pool, messages, cancellation, last));
        if (markets.back().summaries.empty())
            throw usage_error(fmt::format("{}: the input has no complete session", instrument.name))
                .hint("Leave the instrument out by naming the others with --contract.");
    }
    messages.report();
    require_same_bar_length(markets);
    report_instruments(markets, progress);
    progress.stage_ended("Reading bars", seconds_since(start), summary_of(markets));
    return markets;
}

Error error_of_instrument(const std::string& name, const Error& error) {
    if (error.status() != ExitStatus::usage || name.empty())
        return error;
    Error named = usage_error(fmt::format("{}: {}", name, error.message()));
    named.at(error.where()).expected(error.expectation());
    named.hint(error.advice().empty()
                   ? "Each instrument is read on its own; --contract NAME,NAME selects some of them."
                   : error.advice());
    return named;
}

std::vector<market::RejectedRow> distinct_rows(std::vector<market::RejectedRow> rows) {
    const auto place = [](const market::RejectedRow& row) {
        return std::tie(row.file, row.line, row.column);
    };
    std::ranges::stable_sort(rows, {}, place);
    const auto repeated = std::ranges::unique(rows, {}, place);
    rows.erase(repeated.begin(), repeated.end());
    return rows;
}

std::vector<market::RejectedRow> rejected_rows(std::span<const MarketData> markets) {
    if (markets.size() == 1)
        return markets.front().read.rejected;
    std::vector<market::RejectedRow> rows;
    for (const MarketData& data : markets)
        rows.insert(rows.end(), data.read.rejected.begin(), data.read.rejected.end());
    return distinct_rows(std::move(rows));
}

} // namespace rekindle::trainer
