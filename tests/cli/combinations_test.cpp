/// Combinations of options that would leave one without effect are refused, and no option overrides another
/// silently.

#include "process.h"
#include "small_market.h"

#include <rekindle/cli/command_line.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>

namespace rekindle::cli {
namespace {

namespace fs = std::filesystem;

/// A value that the option takes.
std::string value_for(const OptionSpec& option) {
    switch (option.kind) {
    case ValueKind::word:
    case ValueKind::word_list:
        return std::string(option.words.back());
    case ValueKind::integer:
    case ValueKind::integer_list:
        return fmt::format("{}", std::max(1.0, option.range.low));
    case ValueKind::number:
        return "0.5";
    case ValueKind::device_ids:
        return "0";
    case ValueKind::device:
        return "cpu";
    default:
        return option.name == "zone" ? "America/Chicago" : option.name == "day-start" ? "17:00" : "name";
    }
}

Words written(const OptionSpec& option, std::string_view word = {}) {
    const std::string name = "--" + std::string(option.name);
    if (option.kind == ValueKind::flag)
        return {name};
    return {name, word.empty() ? value_for(option) : std::string(word)};
}

/// The error of check_combinations for these arguments; "" when it accepts them.
std::string combination_refusal(const CommandSpec& command, const Words& arguments) {
    const CommandLine line = parse_command_line(command, arguments);
    try {
        check_combinations(line, effective_config(line, ""));
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        return error.message();
    }
    return "";
}

TEST(Combinations, EveryExclusionOfTheTableIsRefusedInBothOrders) {
    std::size_t checked = 0;
    for (const CommandSpec& command : command_table())
        for (const OptionSpec* option : options_of(command.name))
            for (const Exclusion& exclusion : option->not_with) {
                const OptionSpec* other = find_option(command.name, "--" + std::string(exclusion.option));
                if (other == nullptr || exclusion.except_command == command.name)
                    continue;
                const Words one = written(*option, exclusion.own_word);
                const Words two = written(*other, exclusion.word);
                for (const Words& both : {joined(one, two), joined(two, one)}) {
                    const std::string said = combination_refusal(command, both);
                    EXPECT_NE(said.find("--" + std::string(option->name)), std::string::npos)
                        << command.name << " " << option->name << " " << other->name << ": " << said;
                    EXPECT_NE(said.find("--" + std::string(other->name)), std::string::npos) << said;
                }
                ++checked;
            }
    EXPECT_GT(checked, 60u);
}

TEST(Combinations, EveryNameInTheTableExists) {
    for (const OptionSpec& option : option_table())
        for (const Exclusion& exclusion : option.not_with) {
            bool found = false;
            for (const std::string_view command : option.commands)
                if (const OptionSpec* other = find_option(command, "--" + std::string(exclusion.option))) {
                    found = true;
                    EXPECT_TRUE(exclusion.word.empty() || other->kind == ValueKind::text ||
                                other->kind == ValueKind::path ||
                                std::find(other->words.begin(), other->words.end(), exclusion.word) !=
                                    other->words.end())
                        << option.name << " " << exclusion.word;
                }
            EXPECT_TRUE(found) << option.name << " never occurs with " << exclusion.option;
        }
}

// Even a default value is refused when it is written out, but not when a config.json of all keys holds it.
TEST(Combinations, OnlyChosenOptionsCount) {
    const CommandSpec& profile = *find_command("volume-profile");
    EXPECT_NE(combination_refusal(profile, {"--compat", "original", "--weighting", "uniform"}), "");
    EXPECT_EQ(combination_refusal(profile, {"--compat", "original"}), "");
    EXPECT_EQ(combination_refusal(profile, {"--compat", "none", "--weighting", "uniform"}), "");
    const TemporaryFolder folder;
    nlohmann::ordered_json all;
    trainer::TrainConfig config;
    config.compat = trainer::Compat::original;
    trainer::to_json(all, config);
    EXPECT_EQ(combination_refusal(profile, {"--config", folder.file("all.json", all.dump())}), "");
    all["weighting"] = "close";
    EXPECT_NE(combination_refusal(profile, {"--config", folder.file("close.json", all.dump())}), "");
}

TEST(Combinations, CompatibilityMeansRawLabelsUnlessAClockIsGiven) {
    const CommandSpec& profile = *find_command("volume-profile");
    const auto clock = [&](const Words& arguments) {
        return trainer::name_of(effective_config(parse_command_line(profile, arguments), "").config.clock);
    };
    EXPECT_EQ(clock({"--compat", "original"}), "raw");
    EXPECT_EQ(clock({"--compat", "original", "--clock", "utc"}), "utc");
    EXPECT_EQ(clock({}), "utc");
}

/// The results of a run of the program: its status, its standard output and the files that it writes.
struct Made {
    int status = 0;
    std::string result;
    std::string said;
    bool operator==(const Made& other) const { return status == other.status && result == other.result; }
};

Made made_by(const Words& arguments) {
    const TemporaryFolder folder;
    const Finished finished = rekindle(arguments, {.folder = folder.path()});
    Made made{finished.status, finished.output, finished.errors + finished.output};
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder.path()))
        if (entry.is_regular_file() && entry.path().filename() != "rejected.csv")
            files[entry.path().filename().string()] = read_file(entry.path());
    for (const auto& [name, content] : files)
        made.result += "\n" + name + "\n" + content;
    return made;
}

struct Sweep {
    std::string command;
    Words base;
    std::vector<Words> options;
    /// Pairs (the deciding option, the one without effect) that are allowed because of the data.
    std::set<std::pair<std::string, std::string>> explained = {};
};

/// Whether the error of a refused run names the option.
bool names(const Made& refused, const Words& option) {
    const std::size_t begin = refused.said.find("error: ");
    const std::string error = begin == std::string::npos ? "" : refused.said.substr(begin) + " ";
    for (std::size_t at = 0; (at = error.find(option[0], at)) != std::string::npos; ++at)
        if (const char next = error[at + option[0].size()]; next != '-' && !std::isalnum(next))
            return true;
    return false;
}

/// Whether a refused pair names the option that is refused alone, or both.
bool explains(const Made& refused, const Words& one, const Words& other, const Made& one_alone,
              const Made& other_alone) {
    if (one_alone.status == 0 && other_alone.status == 0)
        return (names(refused, one) && names(refused, other)) ||
               refused.said.find("bars are too few") != std::string::npos;
    return (one_alone.status == 2 && names(refused, one)) ||
           (other_alone.status == 2 && names(refused, other));
}

#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t one_pair_of = 7; // all of them take two minutes
#else
constexpr std::size_t one_pair_of = 1;
#endif

/// For every ordered pair: an option that changes the result must also change it in combination with any
/// other, or be refused, or be named in a message. A refusal names the options, and nothing else fails.
void sweep(const Sweep& plan) {
    const Words start = joined({plan.command}, plan.base);
    const Made nothing = made_by(start);
    ASSERT_EQ(nothing.status, 0) << nothing.said;
    std::vector<Made> alone;
    for (const Words& option : plan.options) {
        const Made& made = alone.emplace_back(made_by(joined(start, option)));
        EXPECT_TRUE(made.status == 0 || (made.status == 2 && names(made, option)))
            << plan.command << " " << option[0] << ": " << made.status << " " << made.said;
    }
    std::size_t effective = 0, number = 0;
    for (std::size_t i = 0; i < plan.options.size(); ++i)
        for (std::size_t k = 0; k < i; ++k) {
            if (plan.options[i][0] == plan.options[k][0] || number++ % one_pair_of != 0)
                continue;
            const Made both = made_by(joined(joined(start, plan.options[i]), plan.options[k]));
            EXPECT_TRUE(
                both.status == 0 ||
                (both.status == 2 && explains(both, plan.options[i], plan.options[k], alone[i], alone[k])))
                << plan.command << " " << fmt::format("{}", fmt::join(plan.base, " ")) << ": "
                << plan.options[i][0] << " with " << plan.options[k][0] << ": " << both.status << " "
                << both.said;
            for (const auto& [decides, loses] : {std::pair{i, k}, {k, i}}) {
                const bool has_effect = alone[loses].status == 0 && !(alone[loses] == nothing);
                effective += has_effect;
                if (!has_effect || both.status != 0 || !(both == alone[decides]))
                    continue;
                const std::string& name = plan.options[loses][0];
                const bool named = both.said.find(name) != std::string::npos;
                EXPECT_TRUE(named || plan.explained.contains({plan.options[decides][0], name}))
                    << plan.command << " " << fmt::format("{}", fmt::join(plan.base, " ")) << ": "
                    << plan.options[decides][0] << " silently overrides " << name;
            }
        }
    EXPECT_GT(effective, plan.options.size() / one_pair_of);
}

std::vector<Words> reading_options() {
    return {{"--contract", "ES 06"},
            {"--tick", "0.5"},
            {"--clock", "exchange"},
            {"--clock", "raw"},
            {"--zone", "Asia/Tokyo"},
            {"--stamp", "start"},
            {"--day-start", "20:00"},
            {"--roll", "calendar"},
            {"--calendar", shared_market().calendar},
            {"--columns",
             "time=timestamp,open=open,high=high,low=low,close=close,volume=ticks,contract=contract"}};
}

std::vector<Words> profile_options() {
    std::vector<Words> options = reading_options();
    for (const Words& more : {Words{"--session", "rth"},
                              {"--session", "eth"},
                              {"--session-length", "week"},
                              {"--regular-hours", "10:00-15:00"},
                              {"--weighting", "close"},
                              {"--value-area", "two-row"},
                              {"--tie", "nearest-middle"},
                              {"--compat", "original"}})
        options.push_back(more);
    return options;
}

/// Pairs that have no effect with these bars, which come every three hours from two contracts.
const std::set<std::pair<std::string, std::string>> by_the_bars{
    {"--contract", "--roll"},       // one contract does not roll
    {"--clock", "--day-start"},     // no bar ends between the two starts of the day
    {"--zone", "--day-start"},      // the same
    {"--clock", "--regular-hours"}, // no bar ends between the two openings or the two closes
    {"--clock", "--calendar"},      // inspect with raw labels: no missing day is one of these holidays
    {"--weighting", "--tie"},       // unequal weights leave no ties
    {"--compat", "--clock"},        // it implies raw labels
    {"--clock", "--tick"},          // raw labels: no inferred instrument, and the bars suggest a tick of 0.5
    {"--compat", "--tick"},         // the same
    {"--zone", "--tick"},           // the same, because the hours of the instrument cannot be converted
    {"--features", "--tick"},       // these features do not depend on the tick
};

TEST(Combinations, NoOptionOfVolumeProfileOverridesAnotherSilently) {
    std::vector<Words> options = profile_options();
    options.push_back({"--draw", "2"});
    options.push_back({"--trends", "trends.csv"});
    const Words data{"--data", shared_market().bars, "--output", "profile.json"};
    sweep({"volume-profile", data, options, by_the_bars});
    sweep({"volume-profile", joined(data, {"--session", "rth"}), options, by_the_bars});
}

TEST(Combinations, NoOptionOfFeaturesOverridesAnotherSilently) {
    std::vector<Words> options = profile_options();
    options.push_back({"--data-fraction", "0.7"});
    options.push_back({"--features", "session,returns"});
    options.push_back({"--features", "minute"});
    options.push_back({"--vix", shared_market().vix});
    sweep({"features", {"--data", shared_market().bars, "--output", "features.csv"}, options, by_the_bars});
}

TEST(Combinations, NoOptionOfInspectOverridesAnotherSilently) {
    std::vector<Words> options = reading_options();
    options.push_back({"--regular-hours", "10:00-15:00"});
    options.push_back({"--vix", shared_market().vix});
    sweep({"inspect", {shared_market().bars, "--format", "json"}, options, by_the_bars});
}

TEST(Combinations, ProgramExplainsRefusals) {
    for (const Words& arguments :
         {Words{"volume-profile", "--data", shared_market().bars, "--compat", "original", "--weighting",
                "uniform"},
          {"volume-profile", "--data", shared_market().bars, "--draw", "1", "--output", "-"},
          {"volume-profile", "--data", shared_market().bars, "--output", "a.csv", "--trends", "./a.csv"},
          {"volume-profile", "--data", shared_market().bars, "--output", shared_market().bars},
          {"volume-profile", "--data", shared_market().bars, "--draw", "0"},
          {"features", "--data", shared_market().bars, "--output", shared_market().bars},
          {"train", "--data", shared_market().bars, "--compat", "original", "--purge", "3"},
          {"train", "--data", shared_market().bars, "--session", "eth", "--clock", "raw"},
          {"train", "--data", shared_market().bars, "--session", "rth", "--session-length", "week"},
          {"train", "--data", shared_market().bars, "--features", "minute", "--tie", "lowest"},
          {"inspect", shared_market().bars, "--quiet", "--verbose"},
          {"inspect", shared_market().bars, "--session", "rth"},
          {"doctor", "--explain", "gfx1100", "--probe", "all"},
          {"doctor", "--log", "x.log", "--probe", "all"}}) {
        const TemporaryFolder folder;
        const Finished finished = rekindle(arguments, {.folder = folder.path()});
        EXPECT_EQ(finished.status, 2) << fmt::format("{}", fmt::join(arguments, " ")) << finished.errors;
        EXPECT_TRUE(finished.errors.starts_with("error: ")) << finished.errors;
        EXPECT_TRUE(fs::is_empty(folder.path())) << arguments.front();
    }
}

// Regression test: drawing a session of mixed contracts, which has no contract index, crashed.
TEST(Combinations, CompatibilityModeDraws) {
    const Finished finished =
        rekindle({"volume-profile", "--data", shared_market().bars, "--compat", "original", "--draw", "3"});
    EXPECT_EQ(finished.status, 0) << finished.errors;
    EXPECT_NE(finished.output.find("  mixed, "), std::string::npos) << finished.output;
    EXPECT_NE(finished.output.find("P = point of control"), std::string::npos);
}

} // namespace
} // namespace rekindle::cli
