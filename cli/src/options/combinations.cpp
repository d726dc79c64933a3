/// Refuses combinations of options in which one would have no effect.

#include <rekindle/cli/command_line.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/combinations.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::cli {

namespace {

using Json = nlohmann::ordered_json;

bool holds(const Json& value, std::string_view word) {
    if (value.is_array())
        return std::any_of(value.begin(), value.end(), [&](const Json& one) { return holds(one, word); });
    return value.is_string() && value.get<std::string>() == word;
}

/// The chosen options of one command.
class Choices {
  public:
    Choices(const CommandLine& line, const EffectiveConfig& effective) : line_(line), effective_(effective) {
        trainer::to_json(config_, effective.config);
    }

    bool chosen(const OptionSpec& option) const {
        if (option.in_config)
            return effective_.chosen.contains(option.key());
        return option.kind == ValueKind::flag ? line_.flag(option.key()) : line_.has(option.key());
    }
    /// The value in force is `word`, wherever it comes from.
    bool is(const OptionSpec& option, std::string_view word) const {
        if (word.empty())
            return chosen(option);
        if (option.in_config)
            return holds(config_.at(option.key()), word);
        return line_.has(option.key()) && holds(line_.options.at(option.key()), word);
    }

  private:
    const CommandLine& line_;
    const EffectiveConfig& effective_;
    Json config_;
};

std::string shown(std::string_view name, std::string_view word) {
    return fmt::format("--{}{}{}", name, word.empty() ? "" : " ", word);
}

} // namespace

void check_combinations(const CommandLine& line, const EffectiveConfig& effective) {
    trainer::check_combinations(line.command->name, effective.config, effective.chosen);
    const Choices choices(line, effective);
    for (const OptionSpec* option : options_of(line.command->name)) {
        if (!choices.chosen(*option))
            continue;
        for (const Exclusion& exclusion : option->not_with) {
            const OptionSpec* other = find_option(line.command->name, "--" + std::string(exclusion.option));
            if (other == nullptr || exclusion.except_command == line.command->name ||
                (option->in_config && other->in_config))
                continue;
            if (choices.is(*other, exclusion.word) && choices.is(*option, exclusion.own_word))
                throw usage_error(fmt::format("{} cannot be combined with {}: {}",
                                              shown(option->name, exclusion.own_word),
                                              shown(exclusion.option, exclusion.word), exclusion.reason))
                    .expected("one of them");
        }
    }
}

std::vector<std::string> describe_exclusions(const OptionSpec& option) {
    std::vector<std::string> texts;
    texts.reserve(option.not_with.size());
    for (const Exclusion& exclusion : option.not_with)
        texts.push_back(fmt::format(
            "{}{} ({}{})", shown(exclusion.option, exclusion.word),
            exclusion.own_word.empty() ? "" : fmt::format(" if this option is {}", exclusion.own_word),
            exclusion.reason,
            exclusion.except_command.empty() ? "" : fmt::format("; not in {}", exclusion.except_command)));
    return texts;
}

} // namespace rekindle::cli
