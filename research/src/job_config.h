#pragma once
/// The configuration of a job that begins or continues.

#include <rekindle/trainer/config.h>
#include <rekindle/trainer/progress.h>

#include <set>
#include <string>
#include <string_view>

namespace rekindle::research {

/// The configuration of a job that begins: with absolute paths, and with the instrument that the names of the
/// data show, which is reported.
trainer::TrainConfig new_config(trainer::TrainConfig requested, const std::set<std::string>& given,
                                trainer::ProgressSink& progress);

/// `stored` with those of the given settings that say where the data is and where it trains. Throws Error
/// (usage) naming the first other setting that differs. `noun` names the job in the message: "search".
trainer::TrainConfig resumed_config(const trainer::TrainConfig& requested, const std::set<std::string>& given,
                                    const trainer::TrainConfig& stored, std::string_view noun);

/// Throws Error (usage): --`option` cannot change in a job that continues.
[[noreturn]] void refuse_on_resume(std::string_view option, std::string_view noun);

} // namespace rekindle::research
