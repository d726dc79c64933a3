#include <rekindle/base/clock.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/clock_suggestion.h>
#include <rekindle/market/splits.h>
#include <rekindle/market/usual_hours.h>
#include <rekindle/trainer/market_data.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace rekindle::trainer {

namespace {

using Clock = std::chrono::steady_clock;

double parse_size(const std::string& setting, std::string_view text) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || !(value > 0) || !std::isfinite(value))
        throw usage_error(fmt::format("\"{}\" is not a tick size", setting))
            .at("--tick")
            .expected("auto, a size in points such as 0.25, none, or none:WIDTH");
    return value;
}

/// "auto", "0.25", "none" or "none:0.05".
void set_tick(const std::string& text, market::ReadOptions& options) {
    constexpr std::string_view with_width = "none:";
    if (text == "none")
        options.profile_bin = 0;
    else if (text.starts_with(with_width))
        options.profile_bin = parse_size(text, std::string_view(text).substr(with_width.size()));
    else if (text != "auto")
        options.tick = parse_size(text, text);
}

void set_day_start(const TrainConfig& config, market::SessionRules& rules) {
    if (config.day_start == "auto")
        return;
    const auto minute = market::parse_minute(config.day_start);
    if (!minute || *minute == 24 * 60)
        throw usage_error(fmt::format("\"{}\" is not a time of day", config.day_start))
            .at("--day-start")
            .expected("auto, or HH:MM such as 18:00");
    rules.day_start = *minute;
    rules.day_start_assumed = false;
}

void set_regular_hours(const TrainConfig& config, market::SessionRules& rules) {
    const std::string& text = config.regular_hours;
    if (text == "auto")
        return;
    const std::size_t hyphen = text.find('-');
    const auto open = market::parse_minute(text.substr(0, hyphen));
    const auto close =
        hyphen == std::string::npos ? std::nullopt : market::parse_minute(text.substr(hyphen + 1));
    if (!open || !close || *open >= *close)
        throw usage_error(fmt::format("\"{}\" is not a range of hours", text))
            .at("--regular-hours")
            .expected("open and close in local time of --zone, such as 08:30-15:15");
    rules.rth_open = *open;
    rules.rth_close = *close;
    rules.rth_known = true;
}

void require_zone(const std::string& zone, const char* option) {
    try {
        market::ZoneClock::load(zone); // also when no timestamp needs it
    } catch (Error& error) {
        throw error.at(option);
    }
}

/// Sets the rules that come from the instrument and have no setting in the configuration.
void set_from_instrument(const market::Instrument& instrument, market::SessionRules& rules) {
    const market::SessionRules own = instrument.session_rules();
    rules.daily_bars_are_trading_days = own.daily_bars_are_trading_days;
    const auto ahead = market::constant_difference(rules.zone, own.zone);
    if (!own.halt || !ahead)
        return;
    constexpr int day = 24 * 60;
    rules.halt = {(own.halt->begin + *ahead + day) % day, (own.halt->end + *ahead + day) % day};
}

/// The default rules of the zone. Times that the user gives are in local time of --zone, so they cannot be
/// combined with rules in New York's time.
market::SessionRules rules_of_zone(const TrainConfig& config) {
    market::SessionRules rules = market::usual_session_rules(config.zone);
    if (rules.zone != config.zone && (config.day_start != "auto" || config.regular_hours != "auto")) {
        rules.zone = config.zone;
        rules.rth_known = false;
        rules.day_start_assumed = true;
    }
    return rules;
}

bool original(const TrainConfig& config) {
    return config.compat == Compat::original;
}

/// Warns if contracts, times or prices contradict the instrument.
void warn_of_other_instrument(const TrainConfig& config, const market::ReadResult& read,
                              const market::SessionRules& rules, ProgressSink& progress) {
    for (const std::string& warning : instrument_warnings(config, read, rules))
        progress.warning(warning);
}

/// Keeps the latest share of the sessions; the sessions themselves stay whole.
void keep_latest(std::vector<market::Session>& sessions, double fraction, ProgressSink& progress) {
    if (fraction >= 1)
        return;
    const auto keep = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(sessions.size())));
    progress.info(fmt::format("--data-fraction {:g}: the latest {} of {} {} used", fraction, keep,
                              counted(static_cast<std::int64_t>(sessions.size()), "session"),
                              keep == 1 ? "is" : "are"));
    sessions.erase(sessions.begin(), sessions.end() - static_cast<std::ptrdiff_t>(keep));
}

void report_reading(const market::ReadReport& report, double seconds, ProgressSink& progress) {
    const std::string length = market::BarLength::of(report.spacing).text();
    progress.stage_ended("Reading bars", seconds,
                         fmt::format("{}{} from {} ({}), {:.1f} M rows/s, tick {}",
                                     counted(static_cast<std::int64_t>(report.rows), "bar"),
                                     length.empty() ? "" : " of " + length, report.format,
                                     format_bytes(report.bytes),
                                     static_cast<double>(report.rows) / std::max(1e-9, seconds) / 1e6,
                                     market::tick_text(report)));
    for (const std::string& note : report.notes)
        progress.info(note);
}

/// Warns about time-of-day options that have no effect because the bars are days or longer.
void warn_of_options_ignored_for_dates(const TrainConfig& config, ProgressSink& progress) {
    const TrainConfig usual;
    std::string options;
    for (const auto& [option, differs] :
         {std::pair{"--clock", config.clock != usual.clock && !original(config)},
          {"--stamp", config.stamp != usual.stamp},
          {"--stamp-zone", config.stamp_zone != usual.stamp_zone},
          {"--day-start", config.day_start != usual_day_start(config)}})
        if (differs)
            options += (options.empty() ? "" : ", ") + std::string(option);
    if (!options.empty())
        progress.warning(
            "Each bar is a day or more and belongs to a date, so these options have no effect on "
            "the sessions: " +
            options);
}

/// Without volume, or with a single bar, it is unknown at which prices volume traded.
void warn_of_meaningless_profiles(const std::vector<market::SessionSummary>& summaries,
                                  const market::SessionRules& rules, std::int64_t bar_seconds,
                                  ProgressSink& progress) {
    const auto without = static_cast<std::size_t>(std::count_if(
        summaries.begin(), summaries.end(), [](const auto& session) { return session.total_volume == 0; }));
    if (const std::string warning = market::missing_volume_warning(without, summaries.size());
        !warning.empty())
        progress.warning(warning);
    if (without == summaries.size())
        return;
    const auto single = std::count_if(summaries.begin(), summaries.end(),
                                      [](const market::SessionSummary& s) { return s.bars == 1; });
    if (static_cast<std::size_t>(single) * 2 < summaries.size())
        return;
    const bool at_the_low = std::all_of(summaries.begin(), summaries.end(), [](const auto& s) {
        return s.bars != 1 || s.point_of_control == static_cast<double>(s.low);
    });
    const bool weeks_help = rules.hours == market::SessionHours::all &&
                            rules.length == market::SessionLength::day && bar_seconds <= market::day_seconds;
    progress.warning(
        fmt::format("In {} of {} there is only one bar. The prices at which its volume traded are unknown, "
                    "so the point of control and value area come from the bar's own prices{} and mean "
                    "nothing. Use finer bars{}.",
                    with_thousands(single), counted(summaries.size(), "session"),
                    at_the_low ? " (the point of control is its low)" : "",
                    weeks_help ? ", or longer sessions (--session-length week)" : ""));
}

market::SessionPlan plan_of(market::SessionPlan plan, LastSession last) {
    if (plan.sessions.empty() || plan.sessions.back().complete)
        return plan;
    if (last != LastSession::as_it_is)
        plan.sessions.pop_back();
    else
        plan.notes.pop_back(); // the last one says that the session is not used
    return plan;
}

} // namespace

TrainConfig with_absolute_paths(TrainConfig config) {
    for (std::string& path : config.data)
        if (!market::is_memory_path(path))
            path = std::filesystem::absolute(path).lexically_normal().string();
    for (std::string* path : {&config.vix, &config.instruments, &config.calendar, &config.model})
        if (!path->empty())
            *path = std::filesystem::absolute(*path).lexically_normal().string();
    return config;
}

market::ReadOptions read_options(const TrainConfig& config, const std::filesystem::path& column_file) {
    if (config.data.empty())
        throw usage_error("no input given")
            .at("--data")
            .expected("a CSV file or a folder of them")
            .hint("rekindle simulate --bars 100000 --output bars.csv generates a file to try.");
    market::ReadOptions options;
    options.paths.assign(config.data.begin(), config.data.end());
    options.columns = config.columns;
    options.contract = config.contract;
    options.chain = config.chain;
    set_tick(config.tick, options);
    options.skip_bad_rows = config.bad_rows == BadRows::skip;
    options.chunk_size = static_cast<std::size_t>(config.chunk_size);
    options.column_file = column_file;
    require_zone(config.zone, "--zone");
    if (!config.stamp_zone.empty())
        require_zone(config.stamp_zone, "--stamp-zone");
    options.clock = config.clock;
    options.zone = config.stamp_zone.empty() ? config.zone : config.stamp_zone;
    options.stamp = config.stamp;
    options.exchange_zone = config.zone;
    if (has_instrument(config)) {
        const market::Instrument instrument = instrument_named(config);
        options.usual_tick = instrument.tick;
        options.negative_prices = instrument.negative_prices;
    }
    if (!config.vix.empty())
        options.vix = config.vix;
    return options;
}

market::SessionRules session_rules(const TrainConfig& config) {
    require_zone(config.zone, "--zone");
    market::SessionRules rules = rules_of_zone(config);
    rules.raw_labels = config.clock == market::Clock::raw;
    rules.hours = config.session;
    rules.length = config.session_length;
    set_day_start(config, rules);
    set_regular_hours(config, rules);
    rules.days = config.days;
    if (has_instrument(config))
        set_from_instrument(instrument_named(config), rules);
    return rules;
}

market::ProfileRules profile_rules(const TrainConfig& config) {
    market::ProfileRules rules;
    rules.weighting = config.weighting;
    rules.value_area = config.value_area;
    rules.tie = config.tie;
    if (original(config)) {
        rules.compatibility = market::Compatibility::gpu;
        if (config.chunk_size > 0)
            rules.gpu_chunk_bars = static_cast<std::size_t>(config.chunk_size);
    }
    return rules;
}

market::RollMethod roll_method(const TrainConfig& config) {
    return config.roll;
}

market::HolidayCalendar holiday_calendar(const TrainConfig& config) {
    if (!config.calendar.empty())
        return market::HolidayCalendar::load(config.calendar);
    return has_instrument(config) ? instrument_named(config).calendar() : market::HolidayCalendar::embedded();
}

void require_sessions(const market::SessionPlan& plan) {
    if (plan.sessions.empty())
        throw usage_error("the input has no complete session")
            .hint("`rekindle inspect FILE` shows the sessions for each --clock, --zone and --regular-hours.");
}

void note_unused_vix(const TrainConfig& config, const market::ReadReport& report, ProgressSink& progress) {
    const auto chosen = [&](const char* group) {
        return std::find(config.features.begin(), config.features.end(), group) != config.features.end();
    };
    if (report.vix_source != "none" && !chosen("vix") && !chosen("minute"))
        progress.log(config.vix.empty() ? LogLevel::info : LogLevel::warning,
                     fmt::format("the VIX {} is present but unused; --features session,vix uses it",
                                 report.vix_source));
}

void warn_of_clock(const TrainConfig& config, const market::ReadResult& read,
                   const market::SessionRules& rules, ProgressSink& progress) {
    if (read.bars.metadata().dates_only || original(config))
        return;
    const market::ClockSuggestion suggestion = market::suggest_clock(read.bars, rules, read.report.stamps);
    if (suggestion.verdict == market::ClockSuggestion::Verdict::contradicts)
        progress.warning(
            fmt::format("--clock {} looks wrong: {}", name_of(config.clock), suggestion.message));
    if (!suggestion.stamp_message.empty())
        progress.warning(suggestion.stamp_message);
    const bool whole_days = rules.hours == market::SessionHours::all;
    const std::string& sessions = whole_days ? suggestion.day_message : suggestion.hours_message;
    if (!sessions.empty() && !(whole_days && rules.raw_labels))
        progress.warning(sessions);
}

MarketData load_market_data(const TrainConfig& config, const std::filesystem::path& column_file,
                            ThreadPool& pool, ProgressSink& progress, const CancellationToken& cancellation,
                            LastSession last, const BarReader& read_bars) {
    const market::SessionRules rules = session_rules(config);
    const market::HolidayCalendar calendar = holiday_calendar(config);
    auto start = Clock::now();
    const auto reading = [&](std::uint64_t done, std::uint64_t total) {
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        progress.advanced({"Reading bars", done, total, "bytes", none, none, none});
    };
    market::ReadResult read =
        read_bars(read_options(config, column_file), pool, progress, cancellation, reading);
    report_reading(read.report, seconds_since(start), progress);
    warn_of_clock(config, read, rules, progress);
    warn_of_other_instrument(config, read, rules, progress);
    if (read.bars.metadata().dates_only)
        warn_of_options_ignored_for_dates(config, progress);

    start = Clock::now();
    market::SessionPlan plan = plan_of(
        market::plan_sessions(read.bars, rules, calendar, roll_method(config), original(config)), last);
    for (const std::string& note : plan.notes)
        progress.info(note);
    if (plan.sessions.empty() && last == LastSession::when_complete_or_none) {
        progress.warning("The input has no complete session.");
        const market::BarEnds ends(read.bars, rules, calendar);
        return {std::move(read), rules, ends, profile_rules(config), std::move(plan), {}};
    }
    require_sessions(plan);
    keep_latest(plan.sessions, config.data_fraction, progress);
    const auto splits = market::suspected_splits(read.bars, plan.sessions);
    if (!splits.empty())
        progress.warning(market::split_warning(splits, read.bars.metadata().tick));
    const market::ProfileRules profile = profile_rules(config);
    auto summaries = market::summarize_sessions(read.bars, plan.sessions, profile, pool);
    progress.stage_ended(
        "Profiling sessions", seconds_since(start),
        fmt::format("{} from {} to {}, {}", counted(static_cast<std::int64_t>(summaries.size()), "session"),
                    market::format_date(summaries.front().date), market::format_date(summaries.back().date),
                    counted(static_cast<std::int64_t>(plan.rolls.size()), "roll")));
    warn_of_meaningless_profiles(summaries, rules, read.bars.metadata().bar_seconds, progress);
    const market::BarEnds ends(read.bars, rules, calendar);
    return {std::move(read), rules, ends, profile, std::move(plan), std::move(summaries)};
}

std::string timestamp_text(std::int64_t timestamp, const MarketData& data) {
    const std::int64_t end = data.ends.of(timestamp);
    if (data.session_rules.raw_labels)
        return market::format_civil(end) + " as labeled";
    const auto zone = market::ZoneClock::load(data.session_rules.zone);
    return fmt::format("{} {}", market::format_civil(zone.to_local(end)), zone.name());
}

} // namespace rekindle::trainer
