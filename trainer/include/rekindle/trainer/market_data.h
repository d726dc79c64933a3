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

#include <filesystem>
#include <vector>

namespace rekindle::trainer {

/// Bars, their sessions and the figures of each. A value; the bars are shared, not copied.
struct MarketData {
    market::ReadResult read;
    market::SessionRules session_rules;
    market::ProfileRules profile_rules;
    market::SessionPlan plan; ///< complete sessions only, the latest data_fraction of them
    std::vector<market::SessionSummary> summaries; ///< one per session of the plan
};

/// The settings of a configuration in the terms of market/. Words have been checked by update_from_json().
/// Throws Error (usage) for a tick or a time of day that is not one.
market::ReadOptions read_options(const TrainConfig& config, const std::filesystem::path& column_file);
market::SessionRules session_rules(const TrainConfig& config);
market::ProfileRules profile_rules(const TrainConfig& config);
market::RollMethod roll_method(const TrainConfig& config);
market::HolidayCalendar holiday_calendar(const TrainConfig& config);

/// Reads, cuts into sessions, profiles. Reports the stages "Reading bars" and "Profiling sessions", what was
/// found and what a person should know. `column_file` is used when chunk_size > 0 only. Throws Error (usage)
/// for bad input.
MarketData load_market_data(const TrainConfig& config, const std::filesystem::path& column_file,
                            ThreadPool& pool, ProgressSink& progress, const CancellationToken& cancellation);

} // namespace rekindle::trainer
