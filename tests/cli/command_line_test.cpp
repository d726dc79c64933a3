#include "process.h"

#include <rekindle/base/philox.h>
#include <rekindle/cli/command_line.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/settings.h>

#include <gtest/gtest.h>

namespace rekindle::cli {
namespace {

using Json = nlohmann::ordered_json;

CommandLine parse(const Words& arguments, std::string_view command = "train") {
    return parse_command_line(*find_command(command), arguments);
}

std::string parse_refusal(const Words& arguments, std::string_view command = "train") {
    try {
        parse(arguments, command);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        return error.render();
    }
    return "accepted";
}

TEST(CommandLine, AcceptsEverySpellingOfAnOption) {
    const Json expected = parse({"--batch-size", "8", "--learning-rate", "0.1", "--no-distributed"}).settings;
    EXPECT_EQ(expected.size(), 3U);
    EXPECT_EQ(expected.at("batch_size"), 8);
    EXPECT_EQ(expected.at("learning_rate"), 0.1);
    EXPECT_EQ(expected.at("no_distributed"), true);
    for (const Words& spelling :
         {Words{"--batch_size", "8", "--learning_rate", "0.1", "--no_distributed"},
          Words{"--batch-size=8", "--learning_rate=0.1", "--no-distributed=true"},
          Words{"-b", "8", "-lr", "0.1", "--no_distributed"}, Words{"-b=8", "-lr=.1", "--no_distributed"}})
        EXPECT_EQ(Json::diff(parse(spelling).settings, expected), Json::array());
}

TEST(CommandLine, LastValueWinsAndListsGrow) {
    EXPECT_EQ(parse({"--epochs", "1", "--epochs", "2"}).settings.at("epochs"), 2);
    EXPECT_EQ(parse({"--data", "a", "b", "--epochs", "1", "-d", "c"}).settings.at("data"),
              Json({"a", "b", "c"}));
    EXPECT_EQ(parse({"--data=a b.csv"}).settings.at("data"), Json({"a b.csv"}));
}

TEST(CommandLine, AcceptsNegativeNumbersAndEmptyValues) {
    EXPECT_EQ(parse_refusal({"--momentum", "-0.5"}),
              "--momentum: invalid value \"-0.5\", expected a number of at least 0 and below 1");
    EXPECT_EQ(parse({"--vix", ""}).settings.at("vix"), "");
    EXPECT_EQ(parse({"--vix="}).settings.at("vix"), "");
    EXPECT_EQ(parse({"--columns", "time=1,open=2"}).settings.at("columns"), "time=1,open=2");
}

TEST(CommandLine, NamesTheNearestOption) {
    EXPECT_EQ(
        parse_refusal({"--batch_sise", "3"}),
        "unknown option --batch_sise\n  Did you mean --batch-size? rekindle train --help lists all options.");
    EXPECT_EQ(
        parse_refusal({"--batch", "3"}),
        "unknown option --batch\n  Did you mean --batch-size? rekindle train --help lists all options.");
    EXPECT_EQ(parse_refusal({"-epochs", "3"}),
              "unknown option -epochs\n  Did you mean --epochs? rekindle train --help lists all options.");
    EXPECT_EQ(parse_refusal({"--zzzzzzzz"}),
              "unknown option --zzzzzzzz\n  rekindle train --help lists all options.");
    EXPECT_EQ(parse_refusal({"--epochs"}), "--epochs: missing value, expected a whole number, at least 1");
    EXPECT_EQ(parse_refusal({"--data", "--epochs", "3"}),
              "--data: missing value, expected one or more paths");
    EXPECT_NE(parse_refusal({"bars.csv"}), "accepted");
}

TEST(CommandLine, KeepsPositionals) {
    EXPECT_EQ(parse({"a.csv", "--clock", "raw", "b.csv"}, "inspect").positionals, (Words{"a.csv", "b.csv"}));
    EXPECT_EQ(parse({"--", "--odd", "--", "x"}, "inspect").positionals, (Words{"--odd", "--", "x"}));
}

TEST(CommandLine, LineOverridesFileAndFileOverridesUserDefaults) {
    const TemporaryFolder folder;
    const std::string defaults = folder.file("config.json", R"({"epochs": 5, "seed": 1, "batch_size": 4})");
    const std::string file = folder.file("run.json", R"({"epochs": 6, "seed": 2})");
    const EffectiveConfig effective = effective_config(parse({"--config", file, "--seed", "3"}), defaults);
    EXPECT_EQ(effective.config.batch_size, 4);
    EXPECT_EQ(effective.config.epochs, 6);
    EXPECT_EQ(effective.config.seed, 3);
    EXPECT_EQ(effective.config.learning_rate, trainer::TrainConfig{}.learning_rate);
    EXPECT_EQ(effective.given, (std::set<std::string>{"epochs", "seed"}));
    EXPECT_EQ(effective.user_defaults, defaults);
    EXPECT_EQ(effective_config(parse({}), "/nonexistent/config.json").user_defaults, "");
}

TEST(CommandLine, PrintedConfigurationIsReadBack) {
    const TemporaryFolder folder;
    const Words arguments{"-d",   "a",   "b",     "-hl", "7,5",      "-lr",
                          "3e-5", "-mp", "--ema", "0.1", "--device", "cuda:2"};
    const trainer::TrainConfig config = effective_config(parse(arguments), "").config;
    Json printed;
    trainer::to_json(printed, config);
    const std::string file = folder.file("printed.json", printed.dump(2));
    EXPECT_EQ(effective_config(parse({"--config", file}), "").config, config);
}

TEST(CommandLine, ReportsThePositionInABadFile) {
    const TemporaryFolder folder;
    const auto failure = [&](const std::string& content) -> std::string {
        const std::string file = folder.file("c.json", content);
        try {
            effective_config(parse({"--config", file}), "");
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            return error.render().substr(file.size() - 6);
        }
        return "accepted";
    };
    EXPECT_EQ(failure("{\n \"epochs\": ,\n}"),
              "c.json:2:12: this is not JSON, expected one JSON object such as {\"epochs\": 3}");
    EXPECT_EQ(failure(R"({"epoch": 3})"), "c.json: unknown setting \"epoch\"\n  Did you mean \"epochs\"?");
    EXPECT_NE(failure(""), "accepted");
    EXPECT_NE(failure("[1]"), "accepted");
    EXPECT_THROW(effective_config(parse({"--config", "/nonexistent.json"}), ""), Error);
}

/// Any words at all give a command line or a usage error, never another exception or a crash.
TEST(CommandLine, SurvivesThousandsOfRandomLines) {
    const Words pieces{"--",    "-",         "--data", "--epochs", "3",
                       "=",     "--epochs=", "-lr",    "-1",       "",
                       "--=x",  "a=b",       "-hl",    "1,2",      "[x]",
                       "--vix", "'q'",       "\"w\"",  "-mp",      "--help",
                       "---",   "-lr=2",     "%n",     "\xff/",    "--no_distributed=maybe"};
    int accepted_lines = 0;
    for (std::uint32_t round = 0; round < 500; ++round) {
        Words arguments;
        const auto random = philox4x32({round, 0, 0, 0}, {7, 0});
        for (std::uint32_t i = 0; i < random[0] % 6; ++i)
            arguments.push_back(pieces[philox4x32({round, 1, i, 0}, {7, 0})[0] % pieces.size()]);
        for (const CommandSpec& command : command_table()) {
            try {
                parse_command_line(command, arguments);
                ++accepted_lines;
            } catch (const Error& error) {
                EXPECT_EQ(error.status(), ExitStatus::usage) << error.render();
            }
        }
    }
    EXPECT_GT(accepted_lines, 500);
}

} // namespace
} // namespace rekindle::cli
