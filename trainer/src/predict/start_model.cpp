#include "start_model.h"

#include "formats/file_kind.h"
#include "model_match.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/settings.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace rekindle::trainer {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

/// Whether the file only describes a network, without weights: it is JSON, but not the metadata of a run.
bool describes_a_network(const fs::path& path) {
    const MappedFile file(path);
    return recognize(file.text().substr(0, 4096), path.filename().string()).kind == FileKind::json &&
           !path.filename().string().ends_with("_metadata.json");
}

} // namespace

std::optional<UsableModel> start_model(const TrainConfig& config) {
    if (config.model.empty() || (fs::is_regular_file(config.model) && describes_a_network(config.model)))
        return std::nullopt;
    PredictOptions options;
    options.model = config.model;
    options.input = config;
    return load_usable_model(options);
}

TrainConfig continued_config(const TrainConfig& config, const std::set<std::string>& given,
                             const UsableModel& start) {
    const TrainConfig& own = start.stored.config;
    Json requested, stored;
    to_json(requested, config);
    to_json(stored, own);
    for (const Setting& setting : settings()) {
        const std::string key = setting.key();
        const bool of_model =
            key == "loss" || key == "huber_delta" || key == "instrument" || key == "instruments";
        if (of_model && !given.contains(key))
            requested[key] = stored[key];
        if (std::ranges::find(meaning_keys, std::string_view(key)) == meaning_keys.end())
            continue;
        if (given.contains(key)) {
            TrainConfig changed = own;
            Json one = Json::object();
            one[key] = requested[key];
            update_from_json(one, changed);
            refuse_other_meaning(setting, own, changed, config.model);
            if (setting.part != SettingPart::model)
                continue; // a setting of the new file, such as its clock
        }
        requested[key] = stored[key];
    }
    TrainConfig continued;
    update_from_json(requested, continued);
    if (start.stored.profile_bin > 0 && continued.tick == "auto")
        continued.tick = "none:" + shortest(start.stored.profile_bin);
    return continued;
}

ModelInputs inputs_of(const UsableModel& start) {
    const TargetMeaning& meaning = start.stored.meaning;
    return {start.stored.scaler.features, start.stored.scaler, meaning.scale, meaning.center};
}

} // namespace rekindle::trainer
