#include "settings_in_effect.h"

#include <rekindle/base/text.h>
#include <rekindle/trainer/choices.h>

#include <fmt/format.h>

namespace rekindle::trainer {

namespace {

std::string loss_in_effect(const TrainConfig& config, const Dataset& set) {
    if (config.loss != LossChoice::automatic)
        return "";
    return set.meaning.loss.kind == mlp::LossSpec::Kind::mse ? "mse" : "bce";
}

std::string purge_in_effect(const TrainConfig& config, const Dataset& set) {
    if (static_cast<std::size_t>(config.purge) == set.split.purge)
        return "";
    if (config.compat == Compat::original)
        return "0, because --compat original does not purge";
    return fmt::format("{}, because the target looks {} ahead", set.split.purge,
                       counted(static_cast<std::int64_t>(set.meaning.horizon), "row"));
}

std::string regular_hours_in_effect(const TrainConfig& config, const market::SessionRules& rules) {
    if (config.regular_hours != "auto")
        return "";
    if (!rules.rth_known)
        return "unknown in this zone";
    return fmt::format("{:02}:{:02}-{:02}:{:02}", rules.rth_open / 60, rules.rth_open % 60,
                       rules.rth_close / 60, rules.rth_close % 60);
}

} // namespace

std::vector<SettingWithoutEffect> settings_without_effect(const TrainConfig& config,
                                                          const TargetMeaning& meaning) {
    std::vector<SettingWithoutEffect> found;
    const auto add = [&](std::string_view key, bool without_effect, std::string_view reason) {
        if (without_effect)
            found.push_back({key, reason});
    };
    for (const char* key : {"scale_by", "instrument_input"})
        add(key, config.several_instruments == SeveralInstruments::no,
            "the bars are those of one instrument");
    add("target_bars", !looks_at_bars(config.target, meaning.per_bar),
        meaning.per_bar ? "the target looks one bar ahead" : "the target looks one session ahead");
    add("dead_band", config.target != market::TargetKind::direction, "the target is not direction");
    add("barrier_width", config.target != market::TargetKind::barrier, "the target is not barrier");
    add("across_sessions", !meaning.per_bar, "a row is a session, not a bar");
    add("dropout_rate", config.model.empty() && config.hidden_layers.size() < 2,
        "the first hidden layer has no dropout");
    add("huber_delta", config.loss != LossChoice::huber, "the loss is not huber");
    add("momentum", config.optimizer != mlp::OptimizerSpec::Kind::sgd, "the optimizer is not sgd");
    add("plateau_patience", config.schedule != mlp::ScheduleSpec::Kind::plateau,
        "the schedule is not plateau");
    for (const char* key : {"hidden_layers", "dropout_rate", "activation"})
        add(key, !config.model.empty(), "--model describes the network");
    return found;
}

std::string value_in_effect(std::string_view key, const TrainConfig& config, const MarketData& data,
                            const Dataset& set) {
    if (key == "purge")
        return purge_in_effect(config, set);
    if (key == "loss")
        return loss_in_effect(config, set);
    if (!set.instruments.empty() && (key == "tick" || key == "regular_hours"))
        return "";
    if (key == "tick" && config.tick == "auto")
        return shortest(data.read.report.tick.points);
    if (key == "regular_hours")
        return regular_hours_in_effect(config, data.session_rules);
    return "";
}

} // namespace rekindle::trainer
