#include "job_config.h"

#include <rekindle/base/error.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace rekindle::research {

namespace {

constexpr const char* option_name = "--resume-from-checkpoint";
constexpr std::array changeable{"data",    "chain",  "vix",        "calendar", "model",
                                "threads", "device", "device_ids", "output",   "resume_from_checkpoint"};

std::string hint_for(std::string_view noun) {
    return fmt::format("Omit the option, or start a new {}.", noun);
}

} // namespace

trainer::TrainConfig new_config(trainer::TrainConfig requested, const std::set<std::string>& given,
                                trainer::ProgressSink& progress) {
    trainer::TrainConfig config = trainer::with_absolute_paths(std::move(requested));
    if (const std::string sentence = trainer::infer_instrument(config, given); !sentence.empty())
        progress.info(sentence);
    return config;
}

trainer::TrainConfig resumed_config(const trainer::TrainConfig& requested, const std::set<std::string>& given,
                                    const trainer::TrainConfig& stored, std::string_view noun) {
    nlohmann::ordered_json asked, own;
    to_json(asked, trainer::with_absolute_paths(requested));
    to_json(own, stored);
    for (const std::string& key : given) {
        if (std::ranges::find(changeable, key) == changeable.end() && own[key] != asked[key])
            throw usage_error(fmt::format("this {} was started with {} = {} and cannot continue with {}",
                                          noun, key, own[key].dump(), asked[key].dump()))
                .at(option_name)
                .hint(hint_for(noun));
        if (key != "output")
            own[key] = asked[key];
    }
    trainer::TrainConfig config = stored;
    trainer::update_from_json(own, config);
    return config;
}

void refuse_on_resume(std::string_view option, std::string_view noun) {
    throw usage_error(fmt::format("--{} cannot change when a {} is resumed", option, noun))
        .at(option_name)
        .hint(hint_for(noun));
}

} // namespace rekindle::research
