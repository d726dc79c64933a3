/// Every option of `rekindle train` does what it says or is refused with a reason: for each, two values (or
/// its presence and absence) change a named output of the program.

#include "process.h"
#include "small_market.h"

#include <rekindle/cli/option_table.h>
#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <sstream>

namespace rekindle::cli {
namespace {

namespace fs = std::filesystem;

/// One run of the program in its own folder.
struct TrainingRun {
    explicit TrainingRun(const Words& arguments) : finished(rekindle(arguments, {.folder = folder.path()})) {}

    /// The run folder, "" when there is none.
    fs::path path() const {
        for (const char* parent : {"TRAINING", "ELSEWHERE"})
            if (const fs::path where = fs::path(folder.path()) / parent; fs::exists(where))
                for (const auto& entry : fs::directory_iterator(where))
                    return entry.path();
        return {};
    }
    std::string file(const char* name) const {
        return !path().empty() && fs::exists(path() / name) ? read_file(path() / name) : "";
    }
    std::string everything_said() const { return finished.output + finished.errors; }

    TemporaryFolder folder;
    Finished finished;
};

/// The part of a run that is compared.
using Output = std::function<std::string(const TrainingRun&)>;

/// Only the tensors: the file also holds scores, which can change with rows that are not trained on.
std::string weights(const TrainingRun& run) {
    const std::string file = run.file("model_final.safetensors");
    std::uint64_t header = 0;
    if (file.size() < sizeof header)
        return {};
    std::memcpy(&header, file.data(), sizeof header);
    return header < file.size() ? file.substr(sizeof header + header) : std::string();
}
std::string exit_status(const TrainingRun& run) {
    return std::to_string(run.finished.status);
}
std::string recorded_config(const TrainingRun& run) {
    return run.file("config.json");
}

std::string metrics_of(const TrainingRun& run, const char* key) {
    std::istringstream lines(run.file("metrics.jsonl"));
    std::string values;
    for (std::string line; std::getline(lines, line);)
        values += nlohmann::json::parse(line).at(key).dump() + " ";
    return values;
}
std::string learning_rates(const TrainingRun& run) {
    return metrics_of(run, "learning_rate");
}
std::string epochs(const TrainingRun& run) {
    return metrics_of(run, "epoch");
}

Output lines_about(std::string text) {
    return [text = std::move(text)](const TrainingRun& run) {
        std::istringstream lines(run.everything_said());
        std::string found;
        for (std::string line; std::getline(lines, line);)
            if (line.find(text) != std::string::npos)
                found += line.substr(0, line.find(" took ")) + "\n"; // times differ from run to run
        return found;
    };
}
Output files_named(std::string text) {
    return [text = std::move(text)](const TrainingRun& run) {
        std::set<std::string> names;
        for (const auto& entry : fs::recursive_directory_iterator(run.folder.path()))
            if (entry.path().filename().string().find(text) != std::string::npos)
                names.insert(entry.path().filename().string());
        return std::to_string(names.size());
    };
}
std::string parent_folder(const TrainingRun& run) {
    return run.path().parent_path().filename().string();
}
std::string first_line(const TrainingRun& run) {
    return run.finished.output.substr(0, run.finished.output.find('\n'));
}
std::string lines_said(const TrainingRun& run) {
    return std::to_string(std::count(run.finished.output.begin(), run.finished.output.end(), '\n'));
}

struct FlagCase {
    std::string flag;
    Words common; ///< arguments of both runs
    Words first, second;
    std::string what; ///< the name of the output
    Output output;
    bool same_weights = false; ///< the weights must not change
};

std::vector<FlagCase> input_cases() {
    const SmallMarket& m = shared_market();
    return {
        {"data", {}, {"--data", m.bars}, {"--data", m.other_bars}, "weights", weights},
        {"vix", {"--features", "session,vix"}, {"--vix", m.vix}, {"--vix", m.other_vix}, "weights", weights},
        {"columns",
         {},
         {},
         {"--columns",
          "time=timestamp,open=open,high=high,low=low,close=close,volume=ticks,contract=contract"},
         "weights",
         weights},
        {"contract", {}, {}, {"--contract", "ES 06"}, "weights", weights},
        {"several-instruments",
         {"--data", m.unnamed_bars, m.later_bars},
         {},
         {"--several-instruments", "by-name"},
         "exit status",
         exit_status},
        {"scale-by",
         {"--data", m.unnamed_bars, m.later_bars, "--several-instruments", "by-name"},
         {},
         {"--scale-by", "all"},
         "weights",
         weights},
        {"instrument-input",
         {"--data", m.unnamed_bars, m.later_bars, "--several-instruments", "by-name"},
         {},
         {"--instrument-input", "one-hot"},
         "weights",
         weights},
        {"chain", {"--data", m.unnamed_bars, m.later_bars}, {}, {"--chain"}, "exit status", exit_status},
        {"data-fraction", {}, {}, {"--data-fraction", "0.8"}, "weights", weights},
        {"tick", {}, {"--tick", "0.5"}, {"--tick", "0.25"}, "weights", weights},
        {"bad-rows",
         {"--data", m.malformed_bars},
         {},
         {"--bad-rows", "skip"},
         "rejected.csv",
         files_named("rejected.csv")},
        {"chunk-size", {}, {}, {"--chunk-size", "100"}, "bars.columns", files_named("bars.columns"), true},
        {"instrument", {"--session", "rth"}, {}, {"--instrument", "CL"}, "weights", weights},
        {"instruments",
         {"--instrument", "CL", "--session", "rth"},
         {},
         {"--instruments", m.instruments},
         "weights",
         weights},
        {"clock", {}, {}, {"--clock", "exchange"}, "weights", weights},
        {"zone", {}, {}, {"--zone", "Asia/Tokyo"}, "weights", weights},
        {"stamp", {}, {}, {"--stamp", "start"}, "weights", weights},
        {"stamp-zone", {"--clock", "exchange"}, {}, {"--stamp-zone", "Asia/Tokyo"}, "weights", weights},
        {"session", {}, {}, {"--session", "rth"}, "weights", weights},
        {"session-length", {}, {}, {"--session-length", "week"}, "weights", weights},
        {"days", {"--data", m.coins}, {}, {"--days", "weekdays"}, "weights", weights},
        {"day-start", {}, {}, {"--day-start", "20:00"}, "weights", weights},
        {"regular-hours", {"--session", "rth"}, {}, {"--regular-hours", "10:00-15:00"}, "weights", weights},
        {"calendar", {"--session", "rth"}, {}, {"--calendar", m.calendar}, "weights", weights},
        {"roll", {}, {}, {"--roll", "calendar"}, "weights", weights},
        {"weighting", {}, {}, {"--weighting", "close"}, "weights", weights},
        {"value-area", {}, {}, {"--value-area", "two-row"}, "weights", weights},
        {"tie", {}, {}, {"--tie", "nearest-middle"}, "weights", weights},
        {"compat", {}, {}, {"--compat", "original"}, "weights", weights},
        {"features", {}, {}, {"--features", "session,gap"}, "weights", weights},
        {"scaler", {}, {}, {"--scaler", "standard"}, "weights", weights},
        {"target", {}, {}, {"--target", "direction"}, "weights", weights},
        {"target-bars",
         {"--features", "minute", "--target", "bar-return"},
         {"--target-bars", "1"},
         {"--target-bars", "3"},
         "weights",
         weights},
        {"across-sessions",
         {"--features", "minute", "--target", "bar-return"},
         {},
         {"--across-sessions"},
         "weights",
         weights},
        {"dead-band",
         {"--target", "direction"},
         {"--dead-band", "0"},
         {"--dead-band", "0.05"},
         "weights",
         weights},
        {"barrier-width",
         {"--features", "minute", "--target", "barrier", "--across-sessions"},
         {"--barrier-width", "0.3"},
         {"--barrier-width", "0.6"},
         "weights",
         weights},
        {"train-split", {}, {}, {"--train-split", "0.6"}, "weights", weights},
        {"purge", {}, {}, {"--purge", "9"}, "weights", weights},
        {"embargo",
         {},
         {},
         {"--embargo", "9"},
         "validation loss",
         [](const TrainingRun& run) { return metrics_of(run, "val_loss"); },
         true},
    };
}

std::vector<FlagCase> network_cases() {
    return {
        {"model", {}, {}, {"--model", shared_market().network}, "weights", weights},
        {"hidden-layers", {}, {}, {"--hidden-layers", "7,5"}, "weights", weights},
        {"dropout-rate", {"--hidden-layers", "8,8"}, {}, {"--dropout-rate", "0"}, "weights", weights},
        {"activation", {}, {}, {"--activation", "tanh"}, "weights", weights},
        {"epochs", {}, {}, {"--epochs", "3"}, "epochs", epochs},
        {"batch-size", {}, {}, {"--batch-size", "7"}, "weights", weights},
        {"learning-rate", {}, {}, {"--learning-rate", "0.01"}, "weights", weights},
        {"loss", {}, {}, {"--loss", "huber"}, "weights", weights},
        {"huber-delta", {"--loss", "huber"}, {}, {"--huber-delta", "0.1"}, "weights", weights},
        {"optimizer", {}, {}, {"--optimizer", "sgd"}, "weights", weights},
        {"weight-decay", {}, {}, {"--weight-decay", "0.5"}, "weights", weights},
        {"momentum", {"--optimizer", "sgd"}, {}, {"--momentum", "0.9"}, "weights", weights},
        {"schedule", {}, {}, {"--schedule", "cosine"}, "learning rates", learning_rates},
        {"warmup-steps", {}, {}, {"--warmup-steps", "50"}, "learning rates", learning_rates},
        {"plateau-patience",
         {"--learning-rate", "0.3", "--epochs", "8"},
         {},
         {"--plateau-patience", "0"},
         "learning rates",
         learning_rates},
        {"clip-norm", {}, {}, {"--clip-norm", "0.001"}, "weights", weights},
        {"gradient-accumulation-steps", {}, {}, {"--gradient-accumulation-steps", "3"}, "weights", weights},
        {"early-stopping",
         {"--learning-rate", "0.3", "--epochs", "12"},
         {},
         {"--early-stopping", "1"},
         "epochs",
         epochs},
        {"ema",
         {},
         {},
         {"--ema", "0.9"},
         "validation loss",
         [](const TrainingRun& run) { return metrics_of(run, "val_loss"); }},
        {"use-mixed-precision", {}, {}, {"--use-mixed-precision"}, "weights", weights},
        {"seed", {}, {}, {"--seed", "7"}, "weights", weights},
        {"population",
         {},
         {},
         {"--population", "3"},
         "population.csv",
         [](const TrainingRun& run) { return run.file("population.csv"); }},
    };
}

std::vector<FlagCase> run_cases() {
    return {
        {"output", {}, {}, {"--output", "ELSEWHERE/"}, "parent folder", parent_folder, true},
        {"device", {}, {}, {"--device", "cpu"}, "what is said about it", lines_about("--device"), true},
        {"device-ids",
         {},
         {"--device-ids", "0"},
         {"--device-ids", "0,1"},
         "what is said about it",
         lines_about("--device-ids"),
         true},
        {"no-distributed",
         {},
         {},
         {"--no-distributed"},
         "what is said about it",
         lines_about("--no-distributed"),
         true},
        {"distributed-strategy",
         {},
         {},
         {"--distributed-strategy", "fsdp"},
         "what is said about it",
         lines_about("--distributed-strategy"),
         true},
        {"skip-gpu-cleanup",
         {},
         {},
         {"--skip-gpu-cleanup"},
         "what is said about it",
         lines_about("--skip-gpu-cleanup"),
         true},
        {"threads", {}, {"--threads", "1"}, {"--threads", "2"}, "config.json", recorded_config, true},
        {"checkpoint-interval",
         {},
         {},
         {"--checkpoint-interval", "2"},
         "number of checkpoints",
         lines_about("checkpoints"),
         true},
        {"keep-checkpoints",
         {"--epochs", "5"},
         {},
         {"--keep-checkpoints", "1"},
         "files",
         files_named(".checkpoint"),
         true},
        {"resume-from-checkpoint",
         {},
         {},
         {"--resume-from-checkpoint", "NOWHERE"},
         "exit status",
         exit_status},
        {"config", {}, {}, {"--config", shared_market().config}, "weights", weights},
        {"print-config", {}, {}, {"--print-config"}, "first line", first_line},
        {"quiet", {}, {}, {"--quiet"}, "number of lines", lines_said, true},
        {"verbose", {}, {}, {"--verbose"}, "number of lines", lines_said, true},
        {"log-format",
         {},
         {},
         {"--log-format", "json"},
         "first character",
         [](const TrainingRun& run) { return run.finished.output.substr(0, 1); },
         true},
        {"help", {}, {}, {"--help"}, "first line", first_line},
    };
}

std::vector<FlagCase> all_cases() {
    std::vector<FlagCase> cases = input_cases();
    for (const auto& more : {network_cases(), run_cases()})
        cases.insert(cases.end(), more.begin(), more.end());
    return cases;
}

bool sets(const Words& arguments, const std::string& option) {
    return std::find(arguments.begin(), arguments.end(), option) != arguments.end();
}

/// Runs each set of arguments once.
const TrainingRun& run_with(Words arguments) {
    static std::map<Words, std::unique_ptr<TrainingRun>> runs;
    if (!sets(arguments, "--data"))
        arguments.insert(arguments.begin(), {"--data", shared_market().bars});
    if (!sets(arguments, "--hidden-layers"))
        arguments.insert(arguments.begin(), {"--hidden-layers", "8"});
    if (!sets(arguments, "--epochs"))
        arguments.insert(arguments.begin(), {"--epochs", "2"});
    arguments.insert(arguments.begin(), "train");
    std::unique_ptr<TrainingRun>& run = runs[arguments];
    if (run == nullptr)
        run = std::make_unique<TrainingRun>(arguments);
    return *run;
}

TEST(TrainFlags, SameArgumentsGiveTheSameWeights) {
    const Words arguments{"train", "--data", shared_market().bars, "--hidden-layers", "8", "--epochs", "2"};
    const TrainingRun first(arguments), second(arguments);
    ASSERT_EQ(first.finished.status, 0) << first.everything_said();
    EXPECT_FALSE(weights(first).empty());
    EXPECT_EQ(weights(first), weights(second));
}

TEST(TrainFlags, EveryOptionHasACase) {
    std::set<std::string> covered, expected;
    for (const FlagCase& flag : all_cases())
        covered.insert(flag.flag);
    for (const OptionSpec* option : options_of("train"))
        expected.insert(std::string(option->name));
    EXPECT_EQ(covered, expected);
}

TEST(TrainFlags, EachOptionChangesItsNamedOutput) {
    for (const FlagCase& flag : all_cases()) {
        SCOPED_TRACE("--" + flag.flag + " changes the " + flag.what);
        const TrainingRun& first = run_with(joined(flag.common, flag.first));
        const TrainingRun& second = run_with(joined(flag.common, flag.second));
        for (const TrainingRun* run : {&first, &second})
            EXPECT_TRUE(run->finished.status == 0 ||
                        (run->finished.status == 2 && !run->finished.errors.empty()))
                << run->finished.status << ": " << run->everything_said();
        const bool is_different = flag.output(first) != flag.output(second);
        EXPECT_TRUE(is_different) << flag.output(first).substr(0, 300);
        if (flag.same_weights) {
            EXPECT_TRUE(weights(first) == weights(second) && !weights(first).empty())
                << "the weights changed";
        }
        if (flag.what == "weights") {
            EXPECT_TRUE(!weights(first).empty() && !weights(second).empty())
                << first.everything_said() << second.everything_said();
        }
    }
}

/// Arguments whose first option has no effect with the others, and the same option where it has one.
struct WithoutEffect {
    Words without, with;
};

std::vector<WithoutEffect> options_without_effect() {
    const std::string& network = shared_market().network;
    const Words bars{"--target-bars", "3", "--features", "minute", "--target", "bar-return"};
    const Words huber{"--huber-delta", "0.5", "--loss", "huber"};
    const Words momentum{"--momentum", "0.8", "--optimizer", "sgd"};
    const Words dropout{"--dropout-rate", "0.3", "--hidden-layers", "8,4"};
    return {
        {{"--target-bars", "3"}, bars},
        {{"--target-bars", "3", "--target", "direction"}, bars},
        {{"--target-bars", "3", "--features", "minute"}, bars},
        {{"--across-sessions"}, {"--across-sessions", "--features", "minute"}},
        {{"--dropout-rate", "0.3"}, dropout},
        {{"--dropout-rate", "0.3", "--model", network}, dropout},
        {{"--hidden-layers", "8,4", "--model", network}, {"--hidden-layers", "8,4"}},
        {{"--activation", "relu", "--model", network}, {"--activation", "relu"}},
        {{"--huber-delta", "0.5"}, huber},
        {{"--huber-delta", "0.5", "--loss", "gaussian-nll"}, huber},
        {{"--momentum", "0.8"}, momentum},
        {{"--momentum", "0.8", "--optimizer", "adamw"}, momentum},
        {{"--plateau-patience", "3", "--schedule", "cosine"}, {"--plateau-patience", "3"}},
        {{"--device-ids", "0", "--device", "cpu"}, {"--device", "cpu"}},
        {{"--no-distributed"}, {}},
        {{"--skip-gpu-cleanup"}, {}},
    };
}

/// What the run says about an option without effect.
std::string said_without_effect(const TrainingRun& run, const std::string& option) {
    std::istringstream lines(run.everything_said());
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("warning: " + option) && line.find("no effect") != std::string::npos)
            return line;
    return "";
}

TEST(TrainFlags, OptionsWithoutEffectAreNamed) {
    for (const auto& [without, with] : options_without_effect()) {
        SCOPED_TRACE(testing::PrintToString(without));
        const TrainingRun& run = run_with(without);
        EXPECT_EQ(run.finished.status, 0) << run.everything_said();
        EXPECT_NE(said_without_effect(run, without[0]), "") << run.everything_said();
        EXPECT_EQ(said_without_effect(run_with(with), without[0]), "") << testing::PrintToString(with);
    }
    EXPECT_NE(said_without_effect(run_with({"--target-bars", "3", "--features", "minute"}), "--target-bars")
                  .find("one bar ahead"),
              std::string::npos);
}

TEST(TrainFlags, RefusesWhatItCannotDo) {
    for (const auto& [arguments, reason] : std::vector<std::pair<Words, std::string>>{
             {{"--distributed-strategy", "fsdp", "--device-ids", "0,1"}, "PCIe"},
             {{"--distributed-strategy", "dataparallel", "--device-ids", "0,1"}, "--population"},
             {{"--population", "1000000", "--hidden-layers", "512,512"}, "memory"},
             {{"--roll", "single"}, "contract"},
             {{"--loss", "bce"}, "does not fit"},
             {{"--target", "direction", "--loss", "mse"}, "does not fit"},
             {{"--contract", "NQ"}, "NQ"},
             {{"--features", "session,vix"}, "VIX"},
             {{"--data", "/nonexistent.csv"}, "/nonexistent.csv"}}) {
        const TrainingRun& run = run_with(arguments);
        EXPECT_EQ(run.finished.status, 2) << arguments[1] << ": " << run.everything_said();
        EXPECT_NE(run.finished.errors.find(reason), std::string::npos) << run.finished.errors;
        EXPECT_TRUE(run.path().empty()) << "something was written";
    }
}

TEST(TrainFlags, MissingGpuIsRefusedByName) {
    for (const char* device : {"gpu", "cuda:0", "hip:1", "gpu-0a1b2c3d-0000-1111-2222-333344445555"}) {
        const TemporaryFolder folder;
        const Finished finished =
            rekindle({"train", "--data", shared_market().bars, "--device", device},
                     {.folder = folder.path(), .environment = {{"REKINDLE_VISIBLE_DEVICES", ""}}});
        EXPECT_EQ(finished.status, 2) << device << finished.output << finished.errors;
        for (const char* text : {"--device", "there is no Vulkan device", "--device cpu"})
            EXPECT_NE(finished.errors.find(text), std::string::npos) << device << ": " << finished.errors;
        EXPECT_FALSE(fs::exists(folder.path() + "/TRAINING"));
    }
}

TEST(TrainFlags, UnresponsiveGpuIsReportedAndEndsTheProgram) {
    // The CPU driver compiles for longer than that, and is still running when the program ends.
    const TemporaryFolder folder;
    const Finished finished = rekindle({"train", "--data", shared_market().bars, "--device", "gpu:0"},
                                       {.folder = folder.path(),
                                        .environment = {{"MESA_SHADER_CACHE_DISABLE", "true"},
                                                        {"REKINDLE_CACHE_DIR", folder.path() + "/cache"},
                                                        {"REKINDLE_WATCHDOG_SECONDS", "0.001"}}});
    EXPECT_EQ(finished.status, 1) << finished.output << finished.errors;
    EXPECT_NE(finished.errors.find("is lost: no progress for 0.001 s"), std::string::npos) << finished.errors;
}

} // namespace
} // namespace rekindle::cli
