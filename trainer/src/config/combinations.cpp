#include <rekindle/foundation/error.h>
#include <rekindle/trainer/combinations.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace rekindle::trainer {

namespace {

using Json = nlohmann::ordered_json;

bool holds_word(const Json& value, std::string_view word) {
    if (value.is_array())
        return std::any_of(value.begin(), value.end(),
                           [&](const Json& one) { return holds_word(one, word); });
    return value.is_string() && value.get<std::string>() == word;
}

std::string shown(std::string_view name, std::string_view word) {
    return fmt::format("--{}{}{}", name, word.empty() ? "" : " ", word);
}

const Setting* find_setting(std::string_view command, std::string_view name) {
    const auto& all = settings();
    const auto found = std::ranges::find_if(all, [&](const Setting& setting) {
        return setting.name == name && std::ranges::count(setting.commands, command) > 0;
    });
    return found == all.end() ? nullptr : &*found;
}

/// A configuration and which of its settings the user set.
class Choices {
  public:
    Choices(const TrainConfig& config, const std::set<std::string>& chosen) : chosen_(chosen) {
        to_json(config_, config);
    }
    bool chosen(const Setting& setting) const { return chosen_.contains(setting.key()); }
    /// Whether the value in force is `word`, wherever it comes from; for "", whether the user set it.
    bool is(const Setting& setting, std::string_view word) const {
        return word.empty() ? chosen(setting) : holds_word(config_.at(setting.key()), word);
    }
    /// Names the setting that implied the value of this one; for values that the user did not give.
    std::string_view origin_of(const Setting& setting) const {
        const bool implied =
            setting.name == "clock" && !chosen(setting) && holds_word(config_.at("compat"), "original");
        return implied ? " (from --compat original)" : "";
    }

  private:
    const std::set<std::string>& chosen_;
    Json config_;
};

void check_setting(std::string_view command, const Setting& setting, const Choices& choices) {
    for (const Exclusion& exclusion : setting.not_with) {
        const Setting* other = find_setting(command, exclusion.option);
        if (other == nullptr || exclusion.except_command == command)
            continue;
        if (choices.is(*other, exclusion.word) && choices.is(setting, exclusion.own_word))
            throw usage_error(fmt::format("{} cannot be combined with {}{}: {}",
                                          shown(setting.name, exclusion.own_word),
                                          shown(exclusion.option, exclusion.word), choices.origin_of(*other),
                                          exclusion.reason))
                .expected("one of them");
    }
}

} // namespace

void check_combinations(std::string_view command, const TrainConfig& config,
                        const std::set<std::string>& chosen) {
    const Choices choices(config, chosen);
    for (const Setting& setting : settings())
        if (choices.chosen(setting) && std::ranges::count(setting.commands, command) > 0)
            check_setting(command, setting, choices);
}

} // namespace rekindle::trainer
