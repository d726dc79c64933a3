#include <rekindle/cli/option_table.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/settings.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace rekindle::cli {
namespace {

using Json = nlohmann::ordered_json;

Json default_settings() {
    Json json;
    trainer::to_json(json, trainer::TrainConfig{});
    return json;
}

bool accepted(const std::string& key, const Json& value) {
    trainer::TrainConfig config;
    try {
        trainer::update_from_json(Json{{key, value}}, config);
        return true;
    } catch (const Error&) {
        return false;
    }
}

std::vector<const OptionSpec*> settings() {
    std::vector<const OptionSpec*> rows;
    for (const OptionSpec& option : option_table())
        if (option.in_config)
            rows.push_back(&option);
    return rows;
}

TEST(OptionTable, HasExactlyOneRowPerSetting) {
    const Json defaults = default_settings();
    std::set<std::string> keys;
    for (const auto& item : defaults.items())
        keys.insert(item.key());
    std::set<std::string> rows;
    for (const OptionSpec* option : settings()) {
        EXPECT_TRUE(option->belongs_to("train")) << option->name;
        EXPECT_TRUE(rows.insert(option->key()).second) << option->name << " is in the table twice";
    }
    EXPECT_EQ(rows, keys);
}

TEST(OptionTable, AgreesWithTheConfigurationOnRangesAndWords) {
    for (const OptionSpec* option : settings()) {
        const std::string key = option->key();
        if (option->kind == ValueKind::word) {
            for (const std::string_view word : option->words)
                EXPECT_TRUE(accepted(key, word)) << key << " " << word;
            EXPECT_FALSE(accepted(key, "no-such-word")) << key;
        }
        if (option->kind != ValueKind::integer && option->kind != ValueKind::number)
            continue;
        const bool whole = option->kind == ValueKind::integer;
        const auto value = [&](double number) -> Json {
            return whole ? Json(static_cast<std::int64_t>(number)) : Json(number);
        };
        const double step = whole ? 1 : 1e-9;
        const Range& range = option->range;
        for (const auto& [edge, outward, excluded] : {std::tuple{range.low, -step, range.low_excluded},
                                                      std::tuple{range.high, step, range.high_excluded}}) {
            if (std::isinf(edge))
                continue;
            EXPECT_EQ(accepted(key, value(edge)), !excluded) << key << " at " << edge;
            EXPECT_TRUE(accepted(key, value(edge - outward))) << key << " within " << edge;
            EXPECT_FALSE(accepted(key, value(edge + outward))) << key << " beyond " << edge;
        }
    }
}

TEST(OptionTable, ReadsBackItsOwnDefaults) {
    const Json defaults = default_settings();
    for (const OptionSpec* option : settings()) {
        const std::string text = default_of(*option);
        if (text.empty() || option->kind == ValueKind::path_list)
            continue;
        EXPECT_EQ(parse_value(*option, {text}), defaults.at(option->key())) << option->name;
    }
}

TEST(OptionTable, IsCompleteAndAscii) {
    for (const OptionSpec& option : option_table()) {
        for (const std::string_view text :
             {option.name, option.group, option.brief, option.detail, option.example}) {
            EXPECT_FALSE(text.empty()) << option.name;
            EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }))
                << option.name << ": " << text;
        }
        EXPECT_EQ(option.value_name.empty(), option.kind == ValueKind::flag) << option.name;
        EXPECT_TRUE(!option.brief.ends_with('.') || option.brief.ends_with("...")) << option.name;
        EXPECT_EQ(option.detail.back(), '.') << option.name;
        for (const std::string_view command : option.commands)
            EXPECT_NE(find_command(command), nullptr) << option.name << " " << command;
    }
}

TEST(OptionTable, NamesAndAliasesAreUniqueWithinACommand) {
    for (const CommandSpec& command : command_table()) {
        std::set<std::string_view> seen;
        for (const OptionSpec* option : options_of(command.name)) {
            EXPECT_TRUE(seen.insert(option->name).second) << command.name << " --" << option->name;
            for (const std::string_view alias : option->aliases)
                EXPECT_TRUE(seen.insert(alias).second) << command.name << " " << alias;
        }
    }
}

/// Every spelling of the original's train.py, as its users type it.
TEST(OptionTable, KnowsTheOriginalSpellings) {
    const std::vector<std::pair<std::string, std::string>> spellings{
        {"--verbose", "verbose"},
        {"-v", "verbose"},
        {"--output", "output"},
        {"-o", "output"},
        {"--data", "data"},
        {"-d", "data"},
        {"--batch_size", "batch-size"},
        {"-b", "batch-size"},
        {"--epochs", "epochs"},
        {"-e", "epochs"},
        {"--learning_rate", "learning-rate"},
        {"-lr", "learning-rate"},
        {"--hidden_layers", "hidden-layers"},
        {"-hl", "hidden-layers"},
        {"--dropout_rate", "dropout-rate"},
        {"-dr", "dropout-rate"},
        {"--train_split", "train-split"},
        {"-ts", "train-split"},
        {"--contract", "contract"},
        {"-c", "contract"},
        {"--seed", "seed"},
        {"-s", "seed"},
        {"--use_mixed_precision", "use-mixed-precision"},
        {"-mp", "use-mixed-precision"},
        {"--no_distributed", "no-distributed"},
        {"--device_ids", "device-ids"},
        {"--data_fraction", "data-fraction"},
        {"-df", "data-fraction"},
        {"--skip_gpu_cleanup", "skip-gpu-cleanup"},
        {"--chunk_size", "chunk-size"},
        {"--gradient_accumulation_steps", "gradient-accumulation-steps"},
        {"--resume_from_checkpoint", "resume-from-checkpoint"},
        {"--checkpoint_interval", "checkpoint-interval"},
        {"--distributed_strategy", "distributed-strategy"}};
    for (const auto& [written, name] : spellings) {
        const OptionSpec* option = find_option("train", written);
        ASSERT_NE(option, nullptr) << written;
        EXPECT_EQ(option->name, name);
    }
    EXPECT_EQ(find_option("train", "--b"), nullptr);
    EXPECT_EQ(find_option("train", "-batch-size"), nullptr);
    EXPECT_EQ(find_option("train", "-"), nullptr);
}

Json value_of(const char* option, const std::string& text) {
    return parse_value(*find_option("train", option), {text});
}

TEST(OptionValue, ReadsEachKind) {
    EXPECT_EQ(value_of("--hidden-layers", "32, 16"), Json({32, 16}));
    EXPECT_EQ(value_of("--features", "session,naked_poc"), Json({"session", "naked-poc"}));
    EXPECT_EQ(value_of("--clock", "UTC"), "utc");
    EXPECT_EQ(value_of("--contract", "ALL"), "all");
    EXPECT_EQ(value_of("--contract", "ES 03-25"), "ES 03-25");
    EXPECT_EQ(value_of("--learning-rate", "2e-4"), 2e-4);
    EXPECT_EQ(value_of("--device-ids", "0, 1"), "0,1");
    EXPECT_EQ(value_of("--device", "cuda:1"), "cuda:1");
    EXPECT_EQ(value_of("--device", "hip"), "gpu");
    EXPECT_EQ(value_of("--device", "GPU-0A1b2c3d-0000-1111-2222-333344445555"),
              "gpu-0a1b2c3d-0000-1111-2222-333344445555");
    EXPECT_EQ(value_of("--seed", "+7"), 7);
    EXPECT_EQ(parse_value(*find_option("train", "-mp"), {}), true);
    EXPECT_EQ(parse_value(*find_option("train", "-mp"), {"false"}), false);
}

TEST(OptionValue, RefusesWithWhatWasExpected) {
    const auto refusal = [](const char* option, const std::string& text) -> std::string {
        try {
            value_of(option, text);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            return error.render();
        }
        return "accepted";
    };
    EXPECT_EQ(refusal("--epochs", "0"), "--epochs: invalid value \"0\", expected a whole number, at least 1");
    EXPECT_EQ(refusal("--clock", "utcc"),
              "--clock: invalid value \"utcc\", expected one of utc, exchange, raw\n  Did you mean \"utc\"?");
    EXPECT_EQ(refusal("--dropout-rate", "1"),
              "--dropout-rate: invalid value \"1\", expected a number of at least 0 and below 1");
    for (const auto& [option, text] :
         std::vector<std::pair<const char*, std::string>>{{"--epochs", "3.5"},
                                                          {"--epochs", ""},
                                                          {"--epochs", "1e3"},
                                                          {"--epochs", "99999999999999999999"},
                                                          {"--learning-rate", "nan"},
                                                          {"--learning-rate", "inf"},
                                                          {"--learning-rate", "0"},
                                                          {"--learning-rate", "0.1x"},
                                                          {"--hidden-layers", "32,,16"},
                                                          {"--hidden-layers", "0"},
                                                          {"--features", ""},
                                                          {"--device", "cuda:"},
                                                          {"--device", "cuda:x"},
                                                          {"--device", "tpu"},
                                                          {"--device", "GPU-0a1b2c3d-0000"},
                                                          {"--population", "0"},
                                                          {"--population", "1000001"},
                                                          {"--device-ids", "0;1"},
                                                          {"--device-ids", "-1"},
                                                          {"--device-ids", ""}})
        EXPECT_NE(refusal(option, text), "accepted") << option << " " << text;
}

TEST(OptionTable, NoTwoOptionsOfACommandShareAnExplanation) {
    std::map<std::pair<std::string, std::string>, std::string> seen;
    for (const OptionSpec& option : option_table())
        for (const std::string_view command : option.commands) {
            const auto [other, is_new] =
                seen.try_emplace({std::string(command), std::string(option.detail)}, option.name);
            EXPECT_TRUE(is_new) << "--" << option.name << " and --" << other->second << " of " << command;
        }
}

} // namespace
} // namespace rekindle::cli
