#include <rekindle/base/error.h>
#include <rekindle/base/text.h>
#include <rekindle/market/clock.h>
#include <rekindle/trainer/market_data.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>

namespace rekindle::trainer {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double parse_tick(const std::string& text) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || !(value > 0) || !std::isfinite(value))
        throw usage_error(fmt::format("\"{}\" is not a tick size", text))
            .at("--tick")
            .expected("auto, or a size in points such as 0.25");
    return value;
}

int parse_minute_of_day(const std::string& text) {
    int hour = -1, minute = -1;
    if (text.size() == 5 && text[2] == ':') {
        std::from_chars(text.data(), text.data() + 2, hour);
        std::from_chars(text.data() + 3, text.data() + 5, minute);
    }
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59)
        throw usage_error(fmt::format("\"{}\" is not a time of day", text))
            .at("--day-start")
            .expected("HH:MM such as 18:00");
    return hour * 60 + minute;
}

bool original(const TrainConfig& config) {
    return config.compat == "original";
}

/// Keeps the latest share of the sessions; the sessions themselves stay whole.
void keep_latest(std::vector<market::Session>& sessions, double fraction, ProgressSink& progress) {
    if (fraction >= 1)
        return;
    const auto keep = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(sessions.size())));
    progress.info(fmt::format("--data-fraction {:g}: the latest {} of {} sessions are used", fraction, keep,
                              sessions.size()));
    sessions.erase(sessions.begin(), sessions.end() - static_cast<std::ptrdiff_t>(keep));
}

void report_reading(const market::ReadReport& report, double seconds, ProgressSink& progress) {
    progress.stage_ended("Reading bars", seconds,
                         fmt::format("{} bars from {} ({}), {:.1f} M rows/s, tick {:g} points{}",
                                     with_thousands(static_cast<std::int64_t>(report.rows)), report.format,
                                     format_bytes(report.bytes),
                                     static_cast<double>(report.rows) / std::max(1e-9, seconds) / 1e6,
                                     report.tick.points, report.tick_inferred ? " (inferred)" : ""));
    for (const std::string& note : report.notes)
        progress.info(note);
}

market::SessionPlan complete_plan(market::SessionPlan plan) {
    if (!plan.sessions.empty() && !plan.sessions.back().complete)
        plan.sessions.pop_back();
    return plan;
}

} // namespace

market::ReadOptions read_options(const TrainConfig& config, const std::filesystem::path& column_file) {
    if (config.data.empty())
        throw usage_error("no input was named")
            .at("--data")
            .expected("a CSV file or a folder of them")
            .hint("rekindle simulate --bars 100000 --output bars.csv makes a file to try with.");
    market::ReadOptions options;
    options.paths.assign(config.data.begin(), config.data.end());
    options.columns = config.columns;
    options.contract = config.contract;
    if (config.tick != "auto")
        options.tick = parse_tick(config.tick);
    options.skip_bad_rows = config.bad_rows == "skip";
    options.chunk_size = static_cast<std::size_t>(config.chunk_size);
    options.column_file = column_file;
    const market::SessionRules rules = session_rules(config);
    options.clock = rules.clock;
    options.zone = rules.zone;
    options.stamp = rules.stamp;
    if (!config.vix.empty())
        options.vix = config.vix;
    return options;
}

market::SessionRules session_rules(const TrainConfig& config) {
    market::SessionRules rules;
    rules.clock = config.clock == "raw"        ? market::Clock::raw
                  : config.clock == "exchange" ? market::Clock::exchange
                                               : market::Clock::utc;
    rules.zone = config.zone;
    rules.stamp = config.stamp == "start" ? market::StampAt::bar_start : market::StampAt::bar_end;
    rules.hours = config.session == "rth"   ? market::SessionHours::rth
                  : config.session == "eth" ? market::SessionHours::eth
                                            : market::SessionHours::all;
    rules.length = config.session_length == "week" ? market::SessionLength::week : market::SessionLength::day;
    rules.day_start = parse_minute_of_day(config.day_start);
    return rules;
}

market::ProfileRules profile_rules(const TrainConfig& config) {
    market::ProfileRules rules;
    rules.weighting = config.weighting == "close"  ? market::Weighting::close
                      : config.weighting == "ohlc" ? market::Weighting::ohlc
                                                   : market::Weighting::uniform;
    rules.value_area = config.value_area == "greedy"    ? market::ValueAreaMethod::greedy
                       : config.value_area == "two-row" ? market::ValueAreaMethod::two_row
                                                        : market::ValueAreaMethod::contiguous;
    rules.tie = config.tie == "nearest-middle" ? market::TieRule::nearest_middle : market::TieRule::lowest;
    if (original(config)) {
        rules.compatibility = market::Compatibility::gpu;
        if (config.chunk_size > 0)
            rules.gpu_chunk_bars = static_cast<std::size_t>(config.chunk_size);
    }
    return rules;
}

market::RollMethod roll_method(const TrainConfig& config) {
    if (config.roll == "volume")
        return market::RollMethod::volume;
    return config.roll == "calendar" ? market::RollMethod::calendar : market::RollMethod::single;
}

market::HolidayCalendar holiday_calendar(const TrainConfig& config) {
    return config.calendar.empty() ? market::HolidayCalendar::embedded()
                                   : market::HolidayCalendar::load(config.calendar);
}

MarketData load_market_data(const TrainConfig& config, const std::filesystem::path& column_file,
                            ThreadPool& pool, ProgressSink& progress, const CancellationToken& cancellation) {
    const market::SessionRules rules = session_rules(config);
    const market::HolidayCalendar calendar = holiday_calendar(config);
    auto start = Clock::now();
    const auto reading = [&](std::uint64_t done, std::uint64_t total) {
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        progress.advanced({"Reading bars", done, total, "bytes", none, none, none});
    };
    market::ReadResult read =
        market::read_bars(read_options(config, column_file), pool, progress, cancellation, reading);
    report_reading(read.report, seconds_since(start), progress);

    start = Clock::now();
    market::SessionPlan plan = complete_plan(
        market::plan_sessions(read.bars, rules, calendar, roll_method(config), original(config)));
    for (const std::string& note : plan.notes)
        progress.info(note);
    if (plan.sessions.empty())
        throw usage_error("there is no complete session in the input")
            .hint("`rekindle inspect FILE` shows the sessions for each --clock and --session.");
    keep_latest(plan.sessions, config.data_fraction, progress);
    const market::ProfileRules profile = profile_rules(config);
    auto summaries = market::summarise_sessions(read.bars, plan.sessions, profile, pool);
    progress.stage_ended("Profiling sessions", seconds_since(start),
                         fmt::format("{} sessions from {} to {}, {} rolls",
                                     with_thousands(static_cast<std::int64_t>(summaries.size())),
                                     market::format_date(summaries.front().date),
                                     market::format_date(summaries.back().date), plan.rolls.size()));
    return {std::move(read), rules, profile, std::move(plan), std::move(summaries)};
}

} // namespace rekindle::trainer
