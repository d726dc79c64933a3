#include "model_match.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/instrument.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rekindle::trainer {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

const char* hint_for(const std::string& key) {
    if (key == "zone")
        return "--zone is the zone of the model's sessions. If the timestamps of the file are in another "
               "zone, name it with --clock exchange --stamp-zone ZONE.";
    if (key == "clock")
        return "With raw labels, sessions contain different bars. Omit the option, or train a model with "
               "this "
               "setting.";
    return "Omit the option, or train a model with this setting.";
}

/// Among the clocks, only raw labels change the meaning. Session times that are written differently may mean
/// the same.
bool changes_meaning(const Setting& setting, const TrainConfig& own, const TrainConfig& changed) {
    market::SessionRules rules = session_rules(changed), own_rules = session_rules(own);
    rules.day_start_assumed = own_rules.day_start_assumed;
    if (setting.part != SettingPart::model)
        return rules.raw_labels != own_rules.raw_labels;
    Json before, after;
    to_json(before, own);
    to_json(after, changed);
    const std::string key = setting.key();
    const bool time_of_day = key == "day_start" || key == "regular_hours";
    return before[key] != after[key] && !(time_of_day && rules == own_rules);
}

void require_same_tick(const StoredModel& model, const MarketData& data, const fs::path& path) {
    const market::ReadReport& report = data.read.report;
    const bool has_tick = report.profile_bin == 0, had_tick = model.profile_bin == 0;
    if (had_tick == has_tick && report.profile_bin == model.profile_bin &&
        (!has_tick || report.tick.points == model.tick))
        return;
    const auto words = [](bool tick, double step, double bin) {
        return tick ? "a tick of " + counted(step, "point") : "no tick and bins of " + counted(bin, "point");
    };
    throw usage_error(fmt::format("the model was trained with {}, the data has {}",
                                  words(had_tick, model.tick, model.profile_bin),
                                  words(has_tick, report.tick.points, report.profile_bin)))
        .at(path.string())
        .hint(fmt::format("If the tick of the data was inferred wrongly, give --tick {}.",
                          had_tick ? shortest(model.tick) : "none:" + shortest(model.profile_bin)));
}

void check_bar_length(const StoredModel& model, const MarketData& data, const fs::path& path,
                      std::vector<std::string>& notes) {
    const market::BarSpacing& spacing = data.read.report.spacing;
    const std::string of_data = market::bar_length_text(market::BarLength::of(spacing).seconds);
    if (!model.bar_length) {
        notes.push_back(fmt::format("The model does not record how long the bars of its training data were; "
                                    "this data has bars of {}.",
                                    of_data));
        return;
    }
    const std::string of_model = market::bar_length_text(model.bar_length->seconds);
    switch (market::has_length(spacing, *model.bar_length)) {
    case market::SameLength::yes:
        return;
    case market::SameLength::unknown:
        notes.push_back(fmt::format("The model was trained on bars of {}, and the times of this data do not "
                                    "show whether its bars have that length.",
                                    of_model));
        return;
    case market::SameLength::no:
        throw usage_error(
            fmt::format("the model was trained on bars of {}, the data has bars of {}", of_model, of_data))
            .at(path.string())
            .hint(
                fmt::format("Give a file with bars of {}, or train a model on bars of {}: features, profiles "
                            "and targets mean something else for each.",
                            of_model, of_data));
    }
}

void check_instrument(const StoredModel& model, const MarketData& data, const fs::path& path,
                      bool other_instrument, std::vector<std::string>& notes) {
    if (!model.instrument)
        return;
    const InstrumentMatch match = compare_instruments(*model.instrument, instrument_of(data));
    if (!match.contradiction.empty() && !other_instrument)
        throw usage_error(match.contradiction)
            .at(path.string())
            .hint("Train a model on this data. --other-instrument predicts anyway; features hold prices in "
                  "points, so the result is meaningful only for instruments at the same price level.");
    for (const std::string& sentence : {match.contradiction, match.doubt})
        if (!sentence.empty())
            notes.push_back(fmt::format("Another instrument? {}.", sentence));
}

} // namespace

void refuse_other_meaning(const Setting& setting, const TrainConfig& own, const TrainConfig& changed,
                          const fs::path& model) {
    if (!changes_meaning(setting, own, changed))
        return;
    Json before, after;
    to_json(before, own);
    to_json(after, changed);
    const std::string key = setting.key();
    throw usage_error(
        fmt::format("the model was trained with {} = {}, not {}", key, before[key].dump(), after[key].dump()))
        .at(model.string())
        .hint(hint_for(key));
}

void require_matching_data(const UsableModel& model, const MarketData& data, const fs::path& path,
                           bool other_instrument, std::vector<std::string>& notes) {
    check_bar_length(model.stored, data, path, notes);
    check_instrument(model.stored, data, path, other_instrument, notes);
    if (model.evaluated)                             // a file without metadata records no tick
        require_same_tick(model.stored, data, path); // last: with other data, --tick would be wrong advice
}

} // namespace rekindle::trainer
