#pragma once
/// From a configuration to sessions: the first half of train, predict, features and volume-profile.

#include <rekindle/base/cancellation.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/market/calendar.h>
#include <rekindle/market/read_bars.h>
#include <rekindle/market/session_plan.h>
#include <rekindle/market/session_summary.h>
#include <rekindle/market/volume_profile.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/progress.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// Bars, their sessions and the figures of each. A value; the bars are shared, not copied.
struct MarketData {
    market::ReadResult read;
    market::SessionRules session_rules;
    market::ProfileRules profile_rules;
    market::SessionPlan plan; ///< the latest data_fraction of the sessions; all complete, see LastSession
    std::vector<market::SessionSummary> summaries; ///< one per session of the plan
};

/// The settings of a configuration in the terms of market/. Words have been checked by update_from_json().
/// Throws Error (usage) for a tick, a zone or a time of day that is not one.
market::ReadOptions read_options(const TrainConfig& config, const std::filesystem::path& column_file);
market::SessionRules session_rules(const TrainConfig& config);
market::ProfileRules profile_rules(const TrainConfig& config);
market::RollMethod roll_method(const TrainConfig& config);
market::HolidayCalendar holiday_calendar(const TrainConfig& config);

/// Says so when there is a VIX and no feature takes it.
void say_whether_vix_is_used(const TrainConfig& config, const market::ReadReport& report,
                             ProgressSink& progress);

/// What becomes of the last session when it is not over at the last bar.
enum class LastSession {
    when_complete, ///< left out: its figures would change with the next bar
    as_it_is,      ///< kept, for rows of bars, which do not change any more
};

/// Reads, cuts into sessions, profiles. Reports the stages "Reading bars" and "Profiling sessions", what was
/// found and what a person should know: a clock or regular hours that the data contradict, sessions of one
/// bar. `column_file` is used when chunk_size > 0 only. Throws Error (usage) for bad input.
MarketData load_market_data(const TrainConfig& config, const std::filesystem::path& column_file,
                            ThreadPool& pool, ProgressSink& progress, const CancellationToken& cancellation,
                            LastSession last = LastSession::when_complete);

/// The end of a bar as the person knows it: "2025-02-27 16:00:00 America/New_York", "2025-02-27" for dates
/// alone, "2025-02-27 16:00:00 as labeled" for Clock::raw. `stamp` as BarColumns::time.
std::string stamp_text(std::int64_t stamp, const MarketData& data);

} // namespace rekindle::trainer
