#include "instrument_model.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rekindle::trainer {

namespace {

/// Whether the model can predict an instrument that it was not trained on.
bool knows_no_instrument(const StoredModel& model) {
    return model.config.scale_by == ScaleBy::all && model.config.instrument_input == InstrumentInput::none;
}

Error unknown_instrument(const StoredModel& model, const std::string& name) {
    std::vector<std::string> names;
    for (const StoredInstrument& instrument : model.instruments)
        names.push_back(instrument.name);
    const char* reason = model.config.scale_by == ScaleBy::instrument
                             ? "its features are scaled by each instrument's own training rows"
                             : "the network has an input for each instrument";
    return usage_error(fmt::format("the model was not trained on {}, and {}", name, reason))
        .expected(fmt::format("bars of {}", fmt::join(names, ", ")))
        .hint("Name the instruments to predict with --contract. A model that was trained with "
              "--scale-by all and --instrument-input none predicts others, too.");
}

void take_instrument(const StoredInstrument& own, StoredModel& model) {
    if (!own.scaler.features.empty())
        model.scaler = own.scaler;
    model.meaning.scale = own.target_scale;
    model.meaning.center = own.target_center;
    model.training_share_up = own.training_share_up;
    model.tick = own.tick;
    model.profile_bin = own.profile_bin;
    model.bar_length = own.bar_length;
    model.instrument = own.identity;
    if (model.forecasts && own.training_error > 0) {
        model.forecasts->training_mean = own.training_mean;
        model.forecasts->training_error = own.training_error;
    }
    if (own.evaluation.rows > 0) {
        const Verdict of_all = model.evaluation.verdict;
        model.evaluation = own.evaluation;
        model.evaluation.verdict = of_all; // one instrument of several is not judged alone
    }
}

/// Throws Error (usage) if the instrument has other sessions than those that the model was trained on.
void require_same_hours(const StoredInstrument& own, const MarketData& data,
                        const std::filesystem::path& path) {
    const std::string hours = hours_text(data.session_rules);
    if (own.hours.empty() || own.hours == hours)
        return;
    throw usage_error(fmt::format("{} has {}", data.instrument, hours))
        .at(path.string())
        .expected(fmt::format("those that the model was trained on: {}", own.hours))
        .hint("The list of instruments differs from the one in training, or the names of the contracts do: "
              "name the list with --instruments.");
}

} // namespace

InstrumentModel model_of_instrument(const UsableModel& model, const MarketData& data,
                                    const std::filesystem::path& path) {
    InstrumentModel result{model, {}};
    StoredModel& stored = result.model.stored;
    if (model.stored.instruments.empty())
        return result;
    const auto own = std::ranges::find(model.stored.instruments, data.instrument, &StoredInstrument::name);
    if (own != model.stored.instruments.end()) {
        require_same_hours(*own, data, path);
        take_instrument(*own, stored);
    } else {
        if (!knows_no_instrument(model.stored))
            throw unknown_instrument(model.stored, data.instrument).at(path.string());
        stored.tick = data.read.report.tick.points;
        stored.profile_bin = data.read.report.profile_bin;
        stored.bar_length = model.stored.instruments.front().bar_length;
        result.model.notes.push_back(
            fmt::format("The model was not trained on {}; its interval is that of all instruments together.",
                        data.instrument));
    }
    if (stored.config.instrument_input == InstrumentInput::one_hot) {
        result.instrument_inputs.assign(stored.instruments.size(), 0.0f);
        result.instrument_inputs[static_cast<std::size_t>(own - model.stored.instruments.begin())] = 1;
    }
    if (stored.scaler.features.size() + result.instrument_inputs.size() != stored.model.inputs)
        throw usage_error(fmt::format("the metadata cannot be read: {} has {}, the network {}",
                                      data.instrument, counted(stored.scaler.features.size(), "feature"),
                                      counted(stored.model.inputs, "input")))
            .at(path.string());
    return result;
}

std::map<std::string, std::string> stored_ticks(const StoredModel& model) {
    std::map<std::string, std::string> ticks;
    for (const StoredInstrument& instrument : model.instruments)
        if (instrument.profile_bin > 0)
            ticks[instrument.name] = "none:" + shortest(instrument.profile_bin);
    return ticks;
}

} // namespace rekindle::trainer
