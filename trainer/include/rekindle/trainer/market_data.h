#pragma once
/// From a configuration to sessions: the first half of train, predict, features and volume-profile.

#include <rekindle/base/cancellation.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/bar_ends.h>
#include <rekindle/market/calendar.h>
#include <rekindle/market/instruments.h>
#include <rekindle/market/read_bars.h>
#include <rekindle/market/session_plan.h>
#include <rekindle/market/session_summary.h>
#include <rekindle/market/volume_profile.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/progress.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::trainer {

/// Bars of one instrument, their sessions and the figures of each session. A value; the bars are shared, not
/// copied.
struct MarketData {
    market::ReadResult read;
    market::SessionRules session_rules;
    market::BarEnds ends; ///< of the bars
    market::ProfileRules profile_rules;
    market::SessionPlan plan; ///< the latest data_fraction of the sessions; all complete, see LastSession
    std::vector<market::SessionSummary> summaries; ///< one per session of the plan
    std::string instrument = {}; ///< with --several-instruments, the instrument's name; otherwise ""
    /// The entry of the list of instruments whose hours it has; "" if there is none.
    std::string symbol = {};
};

/// Whether the configuration names one instrument of the list for all bars.
bool has_instrument(const TrainConfig& config);

/// That instrument. Throws Error (usage) if it is unknown or its list is damaged. Precondition:
/// has_instrument().
market::Instrument instrument_named(const TrainConfig& config);

/// The day_start that a configuration has if the user gives none: the instrument's, in the zone of the
/// sessions, or the default. Throws Error (usage) if the instrument is unknown.
std::string usual_day_start(const TrainConfig& config);

/// Sets zone, days, day_start and regular_hours to those of config.instrument, except for keys in `given`.
/// Adds the keys that it set, apart from days, to `given`. If zone is in `given`, the hours are converted to
/// it, which requires that its difference from the instrument's zone never changes (New York, Chicago).
/// Without an instrument, does nothing. Throws Error (usage) if the instrument is unknown, its list is
/// damaged, or its hours cannot be converted to the given zone.
void apply_instrument(TrainConfig& config, std::set<std::string>& given);

/// Replaces config.instrument = "auto" with the instrument that the names of the contracts or files imply, or
/// with "none". Sets days, day_start and regular_hours to the instrument's. Converts them to the configured
/// zone if its difference from the instrument's zone never changes; otherwise sets the zone as well, unless
/// zone, day_start or regular_hours is in `given`. Keys in `given` keep their values. Tables in memory have
/// no instrument. Does nothing with raw labels or --compat original, which use no hours. Returns a sentence
/// about the instrument, or "" if there is none. Throws Error (usage) if the files cannot be read as bars.
///
/// With --several-instruments, sets config.instrument to "each": each instrument then has the hours that
/// config_of_instrument() gives it. If zone, day_start, regular_hours or days is in `given`, they hold for
/// all, and config.instrument becomes "none".
std::string infer_instrument(TrainConfig& config, const std::set<std::string>& given);

/// The configuration of one of several instruments. If config.instrument is "each" or a list of NAME=SYMBOL,
/// sets `instrument`, zone, days, day_start and regular_hours to those of the instrument of the list that
/// config.instrument gives for `name`, or that the names of its contracts or files imply; with none, the
/// hours stay and `instrument` becomes "none". Throws Error (usage) if the instrument is unknown.
TrainConfig config_of_instrument(const TrainConfig& config, const std::string& name,
                                 const std::vector<std::string>& contracts,
                                 const std::vector<std::filesystem::path>& files);

/// The value for `name` in a setting of the form "NAME=VALUE,NAME=VALUE"; nothing if it has none.
std::optional<std::string> value_for(std::string_view setting, std::string_view name);

/// "trading days that begin at 18:00, regular hours 09:30-16:00 (America/New_York)".
std::string hours_text(const market::SessionRules& rules);

/// Warnings about contracts, times and prices that contradict the configured instrument.
std::vector<std::string> instrument_warnings(const TrainConfig& config, const market::ReadResult& read,
                                             const market::SessionRules& rules);

/// Returns the configuration with absolute paths, so that a run finds its files even if it is resumed in
/// another working folder.
TrainConfig with_absolute_paths(TrainConfig config);

/// The settings of a configuration in the terms of market/. Throws Error (usage) for an invalid tick, zone or
/// time of day.
market::ReadOptions read_options(const TrainConfig& config, const std::filesystem::path& column_file);
market::SessionRules session_rules(const TrainConfig& config);
market::ProfileRules profile_rules(const TrainConfig& config);
market::RollMethod roll_method(const TrainConfig& config);
market::HolidayCalendar holiday_calendar(const TrainConfig& config);

/// Warns if the bars contradict the clock, the meaning of the timestamps, or the hours. Silent for bars of
/// days and with --compat original.
void warn_of_clock(const TrainConfig& config, const market::ReadResult& read,
                   const market::SessionRules& rules, ProgressSink& progress);

/// Notes a VIX that no feature uses.
void note_unused_vix(const TrainConfig& config, const market::ReadReport& report, ProgressSink& progress);

/// The treatment of the last session when it is not over at the last bar.
enum class LastSession {
    when_complete,         ///< dropped unless it is complete: its figures would change with the next bar
    when_complete_or_none, ///< likewise, and data without a complete session gives a warning, not an error
    as_it_is,              ///< kept, because its rows are bars, which no longer change
};

/// Throws Error (usage) if there is no session.
void require_sessions(const market::SessionPlan& plan);

/// Reads the bars of a job: market::read_bars, or a function that has read the bars before and returns what
/// market::read_bars would.
struct BarReader
    : std::function<market::ReadResult(
          const market::ReadOptions& options, ThreadPool& pool, LogSink& log, const CancellationToken& cancel,
          const std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)>& progress)> {
    using function::function;

    /// The tables in memory that paths of the configuration stand for.
    std::map<std::filesystem::path, market::ArrowTable> tables = {};
};

/// Reads bars, cuts them into sessions and computes profiles. Reports the stages "Reading bars" and
/// "Profiling sessions", the findings, and warnings: a clock or regular hours that the data contradicts,
/// sessions of one bar. `column_file` is used only when chunk_size > 0. Throws Error (usage) for bad input.
MarketData load_market_data(const TrainConfig& config, const std::filesystem::path& column_file,
                            ThreadPool& pool, ProgressSink& progress, const CancellationToken& cancellation,
                            LastSession last = LastSession::when_complete,
                            const BarReader& read_bars = market::read_bars);

/// One of the instruments of a configuration, and how it is read alone.
struct InstrumentBars {
    std::string name;   ///< "" without --several-instruments
    TrainConfig config; ///< with the instrument's own tick and hours
    std::filesystem::path column_file;
    BarReader read_bars; ///< reads only bars of the instrument; refers to the reader it was made from
};

/// Finds the instruments of the configuration, ordered by name: one without a name unless it is for several.
/// Throws Error (usage) like market::find_instruments(), and if --tick or --instrument names another
/// instrument.
std::vector<InstrumentBars> find_instruments(const TrainConfig& config,
                                             const std::filesystem::path& column_file, ThreadPool& pool,
                                             const CancellationToken& cancellation,
                                             const BarReader& read_bars = market::read_bars);

/// Loads the instruments of the configuration, ordered by name: with --several-instruments, each as
/// load_market_data() would read it alone; otherwise one without a name. All bars must have the same length.
/// A message about several instruments is reported once, with their names. `usual_ticks` gives the tick of
/// instruments for which --tick is auto. Throws as load_market_data() does, naming the instrument.
std::vector<MarketData> load_markets(const TrainConfig& config, const std::filesystem::path& column_file,
                                     ThreadPool& pool, ProgressSink& progress,
                                     const CancellationToken& cancellation,
                                     LastSession last = LastSession::when_complete,
                                     const BarReader& read_bars = market::read_bars,
                                     const std::map<std::string, std::string>& usual_ticks = {});

/// "ES", "ES and NQ", "AAPL, AMZN, MSFT and 502 more".
std::string list_of_instruments(const std::vector<std::string>& names);

/// `error` as one about an instrument, with its name before the message; unchanged if `name` is empty.
Error error_of_instrument(const std::string& name, const Error& error);

/// Rows that were rejected while each instrument was read, in the order of the files: a row without a
/// contract is rejected once for each instrument in its file, and listed once.
std::vector<market::RejectedRow> distinct_rows(std::vector<market::RejectedRow> rows);
/// The rejected rows of all instruments.
std::vector<market::RejectedRow> rejected_rows(std::span<const MarketData> markets);

/// The end of a bar as the user knows it: "2025-02-27 16:00:00 America/New_York", or "2025-02-27 16:00:00 as
/// labeled" for Clock::raw. `timestamp` as in BarColumns::time.
std::string timestamp_text(std::int64_t timestamp, const MarketData& data);

} // namespace rekindle::trainer
