#pragma once
/// The configuration of a new or resumed job.

#include <rekindle/trainer/config.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/progress.h>
#include <rekindle/trainer/report.h>

#include <set>
#include <span>
#include <string>
#include <string_view>

namespace rekindle::research {

/// The configuration of a new job. Makes paths absolute; infers the instrument from the names of the data,
/// and reports it.
trainer::TrainConfig new_config(trainer::TrainConfig requested, const std::set<std::string>& given,
                                trainer::ProgressSink& progress);

/// The configuration of a resumed job. Only settings that say where the data is or where to train can replace
/// stored ones. Throws Error (usage) if any other given setting differs from the stored one, and names the
/// first of these. `noun` names the job in the message, such as "search".
trainer::TrainConfig resumed_config(const trainer::TrainConfig& requested, const std::set<std::string>& given,
                                    const trainer::TrainConfig& stored, std::string_view noun);

/// Identifies the bars of a job: a hash of the input and, with several instruments, of their names.
std::string hash_of_bars(std::span<const trainer::MarketData> markets);

/// Adds to a report which bars a job read.
void add_bars(std::span<const trainer::MarketData> markets, trainer::ReportData& report);

/// Throws Error (usage), which says that --`option` cannot change when the job is resumed.
[[noreturn]] void refuse_on_resume(std::string_view option, std::string_view noun);

} // namespace rekindle::research
