/// Whole runs: the same weights in every way of running, bad input that leaves nothing behind, resuming.

#include "../run_fixture.h"

#include <functional>
#include <future>
#include <sys/file.h>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

struct Variant {
    const char* name;
    std::function<void(TrainConfig&)> change;
};

class VariantTest : public RunTest, public ::testing::WithParamInterface<Variant> {};

void use_minutes(TrainConfig& config) {
    config.data = {minute_bars().string()};
    config.clock = market::Clock::utc;
}

TEST_P(VariantTest, ThreadsAndInterruptionsDoNotChangeTheWeights) {
    TrainConfig settings = config();
    settings.checkpoint_interval = 3;
    GetParam().change(settings);
    const TrainOutcome alone = run(settings);
    EXPECT_TRUE(fs::exists(alone.report));
    EXPECT_FALSE(alone.verdict.empty());
    EXPECT_GE(alone.score_lines.size(), 2u);
    for (const std::int64_t threads : {2, 4}) {
        settings.threads = threads;
        expect_same_weights(alone.run_folder, run(settings).run_folder, std::to_string(threads) + " threads");
    }
    const TrainOutcome stopped = interrupted(settings, 2);
    expect_same_weights(alone.run_folder, resume(stopped.run_folder).run_folder, "resumed");
}

INSTANTIATE_TEST_SUITE_P(
    Train, VariantTest,
    ::testing::Values(Variant{"Return", [](TrainConfig&) {}},
                      Variant{"Direction", [](TrainConfig& c) { c.target = market::TargetKind::direction; }},
                      Variant{"BarReturn", [](TrainConfig& c) { c.target = market::TargetKind::bar_return; }},
                      Variant{"GaussianNll", [](TrainConfig& c) { c.loss = LossChoice::gaussian_nll; }},
                      Variant{"Huber", [](TrainConfig& c) { c.loss = LossChoice::huber; }},
                      Variant{"CompatOriginal", [](TrainConfig& c) { c.compat = Compat::original; }},
                      Variant{"SgdWithMomentum",
                              [](TrainConfig& c) {
                                  c.optimizer = mlp::OptimizerSpec::Kind::sgd;
                                  c.momentum = 0.9;
                                  c.learning_rate = 1e-3;
                              }},
                      Variant{"CosineAverageAccumulation",
                              [](TrainConfig& c) {
                                  c.schedule = mlp::ScheduleSpec::Kind::cosine;
                                  c.warmup_steps = 5;
                                  c.ema = 0.9;
                                  c.gradient_accumulation_steps = 3;
                              }},
                      Variant{"MixedPrecision", [](TrainConfig& c) { c.use_mixed_precision = true; }},
                      Variant{"AllGroupsOfSessions",
                              [](TrainConfig& c) {
                                  c.features = {"session", "vix", "returns", "gap", "calendar", "naked-poc"};
                              }},
                      Variant{"MinuteBars", use_minutes}, // sessions, profiles and rolls of one-minute bars
                      Variant{"MinuteGroup",
                              [](TrainConfig& c) {
                                  use_minutes(c);
                                  c.features = {"minute"};
                                  c.data_fraction = 0.1;
                                  c.batch_size = 256;
                                  c.epochs = 1;
                                  c.checkpoint_interval = 10;
                              }}),
    [](const auto& variant) { return variant.param.name; });

// ---------------------------------------------------------------------------------------------- bad input

TEST_F(RunTest, BadInputLeavesNothingBehind) {
    auto lines = daily_lines(120);
    lines[70] = "2020-04-10,1,0.5,2,1,5,15"; // high below low
    write_lines(bars(), lines);
    const std::string error = error_of([&] { run(config()); });
    EXPECT_TRUE(contains(error, bars().string() + ":71")) << error;
    EXPECT_FALSE(fs::exists(output()));
}

TEST_F(RunTest, UsageErrorLeavesNothingBehind) {
    const auto refused = [&](const std::function<void(TrainConfig&)>& change, std::string_view said) {
        TrainConfig settings = config();
        settings.output = (output() / "deeper" / "still").string();
        change(settings);
        const std::string error = error_of([&] { run(settings); });
        EXPECT_TRUE(contains(error, said)) << error;
        EXPECT_FALSE(fs::exists(output())) << said;
    };
    refused([](TrainConfig& c) { c.data = {"/nowhere/bars.csv"}; }, "/nowhere/bars.csv");
    refused([](TrainConfig& c) { c.data.clear(); }, "--data");
    refused([](TrainConfig& c) { c.device = "gpu:4096"; }, "--device");
    refused([](TrainConfig& c) { c.device = "tpu"; }, "--device");
    refused([](TrainConfig& c) { c.device_ids = "0;1"; }, "--device-ids");
    refused([](TrainConfig& c) { c.loss = LossChoice::bce; }, "--loss");
    refused([](TrainConfig& c) { c.tick = "many"; }, "--tick");
    refused([](TrainConfig& c) { c.day_start = "25:00"; }, "--day-start");
    refused([](TrainConfig& c) { c.model = "/nowhere/model.json"; }, "/nowhere/model.json");
    refused([](TrainConfig& c) { c.features = {"session", "magic"}; }, "magic");
    refused([](TrainConfig& c) { c.features = {"session", "minute"}; }, "--features");
    refused([](TrainConfig& c) { c.contract = "ZZ"; }, "ZZ");
    refused([](TrainConfig& c) { c.data_fraction = 0.05; }, "more sessions are needed");
}

TEST_F(RunTest, InterruptionBeforeTrainingLeavesNothingBehind) {
    CancellationToken token;
    token.request();
    NullProgressSink progress;
    try {
        train(config(), {}, progress, token);
        FAIL() << "the token was ignored";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::interrupted);
    }
    EXPECT_FALSE(fs::exists(output()));
}

TEST_F(RunTest, AbandonedFoldersAreRemovedAndLockedOnesKept) {
    const fs::path abandoned = output() / ".train_20200101_000000_1_1.partial";
    const fs::path alive = output() / ".train_20200101_000000_2_1.partial";
    for (const fs::path& folder : {abandoned, alive}) {
        ensure_directory(folder);
        write_file_atomically(folder / "bars.columns", "x");
    }
    const auto lock = FileDescriptor::open_for_reading(alive);
    ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    run(config());
    EXPECT_FALSE(fs::exists(abandoned));
    EXPECT_TRUE(fs::exists(alive / "bars.columns"));
}

TEST_F(RunTest, RunsInTheSameSecondGetSeparateFolders) {
    std::vector<std::future<TrainOutcome>> runs;
    for (int i = 0; i < 4; ++i)
        runs.push_back(std::async(std::launch::async, [&] { return run(config()); }));
    std::set<fs::path> folders;
    for (auto& one : runs)
        folders.insert(one.get().run_folder);
    EXPECT_EQ(folders.size(), 4u);
    for (const fs::path& folder : folders)
        expect_same_weights(folder, *folders.begin(), folder.string());
}

// ----------------------------------------------------------------------------------------------- resuming

TEST_F(RunTest, ResumesWithMoreEpochsAsIfRequestedFromTheStart) {
    TrainConfig settings = config();
    settings.plateau_patience = 0; // the schedule acts within these epochs
    const TrainOutcome first = run(settings);
    TrainConfig more;
    more.epochs = 7;
    const TrainOutcome second = resume(first.run_folder, more, {"epochs"});
    EXPECT_EQ(second.run_folder, first.run_folder);
    settings.epochs = 7;
    const TrainOutcome whole = run(settings);
    expect_same_weights(whole.run_folder, second.run_folder, "7 epochs");
    const auto optimizer = [](const fs::path& run) {
        const Json metadata = Json::parse(read_file(run / "best_model_metadata.json"));
        return std::pair(metadata.at("epoch"), metadata.at("metadata").at("history").at("learning_rate"));
    };
    EXPECT_EQ(optimizer(whole.run_folder), optimizer(second.run_folder));
    EXPECT_EQ(Json::parse(read_file(first.run_folder / "config.json"))["epochs"], 7);
}

TEST_F(RunTest, ResumingAFinishedRunChangesNothing) {
    const TrainOutcome first = run(config());
    const auto before = tensors_of(first.run_folder / "model_final.safetensors");
    const TrainOutcome again = resume(first.run_folder);
    EXPECT_FALSE(again.interrupted);
    EXPECT_EQ(again.verdict, first.verdict);
    EXPECT_EQ(again.score_lines, first.score_lines);
    expect_same_tensors(tensors_of(first.run_folder / "model_final.safetensors"), before, "weights");
}

TEST_F(RunTest, InterruptedRunSaysSoAndResumesFromAnywhere) {
    TrainConfig settings = config();
    settings.checkpoint_interval = 2;
    const TrainOutcome whole = run(settings);
    for (const int reports : {1, 2, 5, 9, 11}) {
        const TrainOutcome stopped = interrupted(settings, reports);
        EXPECT_TRUE(stopped.verdict.empty());
        EXPECT_FALSE(fs::exists(stopped.run_folder / "best_model_metadata.json"));
        EXPECT_FALSE(fs::is_empty(stopped.run_folder / "checkpoints"));
        expect_same_weights(whole.run_folder, resume(stopped.run_folder).run_folder,
                            "stopped after " + std::to_string(reports));
    }
}

TEST_F(RunTest, RefusesToResumeWithOtherSettingsAndNamesThem) {
    const TrainOutcome stopped = interrupted(config(), 1);
    const std::string before = read_file(stopped.run_folder / "config.json");
    const auto refused = [&](const std::string& key, const std::function<void(TrainConfig&)>& change,
                             std::string_view own, std::string_view asked) {
        TrainConfig settings;
        change(settings);
        const std::string error = error_of([&] { resume(stopped.run_folder, settings, {key}); });
        EXPECT_TRUE(contains(error, key)) << error;
        EXPECT_TRUE(contains(error, own)) << error;
        EXPECT_TRUE(contains(error, asked)) << error;
    };
    refused(
        "batch_size", [](TrainConfig& c) { c.batch_size = 16; }, "8", "16");
    refused(
        "learning_rate", [](TrainConfig& c) { c.learning_rate = 0.5; }, "0.0005", "0.5");
    refused(
        "seed", [](TrainConfig& c) { c.seed = 7; }, "42", "7");
    refused(
        "clock", [](TrainConfig& c) { c.clock = market::Clock::utc; }, "raw", "utc");
    refused(
        "hidden_layers", [](TrainConfig& c) { c.hidden_layers = {9}; }, "[16,8]", "[9]");
    refused(
        "schedule", [](TrainConfig& c) { c.schedule = mlp::ScheduleSpec::Kind::cosine; }, "plateau",
        "cosine");
    EXPECT_EQ(read_file(stopped.run_folder / "config.json"), before) << "a refusal changed the run";
    EXPECT_FALSE(resume(stopped.run_folder).interrupted);
}

TEST_F(RunTest, RefusesToResumeWithOtherDataAndNamesTheDifference) {
    const TrainOutcome stopped = interrupted(config(), 1);
    TrainConfig other;
    const auto error_with = [&](const std::vector<std::string>& lines) {
        write_lines(folder_ / "other.csv", lines);
        other.data = {(folder_ / "other.csv").string()};
        return error_of([&] { resume(stopped.run_folder, other, {"data"}); });
    };
    const std::string longer = error_with(daily_lines(130));
    EXPECT_TRUE(contains(longer, "rows of 54 features")) << longer;
    EXPECT_TRUE(contains(longer, "--resume-from-checkpoint")) << longer;
    auto lines = daily_lines(120);
    lines[80].replace(lines[80].rfind(',') - 6, 6, "123456");
    const std::string altered = error_with(lines);
    EXPECT_TRUE(contains(altered, "other values")) << altered;
    // The same content at another place is the same input.
    write_lines(folder_ / "other.csv", daily_lines(120));
    fs::remove(bars());
    EXPECT_FALSE(resume(stopped.run_folder, other, {"data"}).interrupted);
}

TEST_F(RunTest, CosineKeepsItsNumberOfEpochs) {
    TrainConfig settings = config();
    settings.schedule = mlp::ScheduleSpec::Kind::cosine;
    const TrainOutcome stopped = interrupted(settings, 1);
    TrainConfig more;
    more.epochs = 9;
    const std::string error = error_of([&] { resume(stopped.run_folder, more, {"epochs"}); });
    EXPECT_TRUE(contains(error, "cosine")) << error;
    EXPECT_FALSE(resume(stopped.run_folder).interrupted) << "the refusal must not have changed the run";
}

TEST_F(RunTest, CannotGoBackToFewerEpochs) {
    const TrainOutcome done = run(config());
    TrainConfig fewer;
    fewer.epochs = 2;
    const std::string error = error_of([&] { resume(done.run_folder, fewer, {"epochs"}); });
    EXPECT_TRUE(contains(error, "3 complete epochs")) << error;
}

TEST_F(RunTest, EditedConfigurationIsRefused) {
    const TrainOutcome stopped = interrupted(config(), 1);
    const fs::path file = stopped.run_folder / "config.json";
    Json edited = Json::parse(read_file(file));
    edited["dropout_rate"] = 0.1;
    write_file_atomically(file, edited.dump());
    EXPECT_TRUE(contains(error_of([&] { resume(stopped.run_folder); }), "other settings"));
    edited["dropout_rate"] = 7;
    write_file_atomically(file, edited.dump());
    const std::string error = error_of([&] { resume(stopped.run_folder); });
    EXPECT_TRUE(contains(error, file.string())) << error;
    EXPECT_TRUE(contains(error, "--dropout-rate")) << error;
    write_file_atomically(file, "{");
    EXPECT_TRUE(contains(error_of([&] { resume(stopped.run_folder); }), file.string()));
}

TEST_F(RunTest, OtherFolderIsNamedWithItsNewestRun) {
    const TrainOutcome done = run(config());
    const std::string error = error_of([&] { resume(output()); });
    EXPECT_TRUE(contains(error, "config.json")) << error;
    EXPECT_TRUE(contains(error, done.run_folder.filename().string())) << error;
}

TEST_F(RunTest, TwoProcessesInOneFolderAreRefused) {
    const TrainOutcome stopped = interrupted(config(), 1);
    const std::string before = read_file(stopped.run_folder / "config.json");
    {
        const auto other = FileDescriptor::open_for_reading(stopped.run_folder);
        ASSERT_EQ(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
        TrainConfig more;
        more.epochs = 5;
        const std::string error = error_of([&] { resume(stopped.run_folder, more, {"epochs"}); });
        EXPECT_TRUE(contains(error, "another process")) << error;
        EXPECT_EQ(read_file(stopped.run_folder / "config.json"), before)
            << "only the other process may write it";
    }
    EXPECT_FALSE(resume(stopped.run_folder).interrupted);
}

TEST_F(RunTest, RunningTrainingLocksItsFolder) {
    class Rival final : public ProgressSink {
      public:
        explicit Rival(fs::path output) : output_(std::move(output)) {}
        void log(LogLevel, std::string_view) override {}
        void advanced(const StageProgress&) override {}
        void stage_ended(std::string_view, double, std::string_view) override {}
        void epoch_ended(const EpochMetrics& metrics) override {
            for (const auto& entry : fs::directory_iterator(output_))
                if (metrics.epoch == 1)
                    error = error_of([&] { resume(entry.path()); });
        }
        std::string error;

      private:
        fs::path output_;
    };
    Rival rival(output());
    const TrainOutcome outcome = train(config(), {}, rival, CancellationToken());
    EXPECT_TRUE(contains(rival.error, "another process")) << rival.error;
    EXPECT_FALSE(outcome.interrupted);
}

} // namespace
} // namespace rekindle::trainer
