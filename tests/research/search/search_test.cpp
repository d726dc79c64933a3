/// Whole searches on small files of bars.

#include "search/trial_store.h"

#include <rekindle/base/philox.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/mlp/model.h>
#include <rekindle/research/search.h>
#include <rekindle/research/walk_forward.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <span>
#include <sstream>
#include <sys/wait.h>
#include <temporary_folder.h>
#include <unistd.h>

namespace rekindle::research {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using OrderedJson = nlohmann::ordered_json;

/// Daily bars of a random walk.
void write_days(const fs::path& path, int count) {
    PhiloxStream random(1, RandomPurpose::test);
    std::string text = "Date,Open,High,Low,Close,Volume\n";
    std::chrono::sys_days day = std::chrono::year(2015) / 1 / 5;
    double close = 2000;
    for (int written = 0; written < count; day += std::chrono::days(1)) {
        if (std::chrono::weekday(day).iso_encoding() > 5)
            continue;
        const double open = close;
        close = std::round(4 * close * std::exp(0.01 * random.next_normal())) / 4;
        const std::chrono::year_month_day date(day);
        text += fmt::format("{:04}-{:02}-{:02},{:.2f},{:.2f},{:.2f},{:.2f},{}\n", int(date.year()),
                            unsigned(date.month()), unsigned(date.day()), open, std::max(open, close) + 2,
                            std::min(open, close) - 2, close, 1000 + random.next_below(500));
        ++written;
    }
    write_file_atomically(path, text);
}

/// Stops after `reports` progress reports of the search.
class StopSearch final : public trainer::ProgressSink {
  public:
    StopSearch(CancellationToken& token, int reports) : token_(token), left_(reports) {}
    void log(LogLevel, std::string_view) override {}
    void advanced(const trainer::StageProgress& progress) override {
        if (progress.stage == "Searching" && --left_ == 0)
            token_.request();
    }
    void stage_ended(std::string_view, double, std::string_view) override {}
    void epoch_ended(const trainer::EpochMetrics&) override {}

  private:
    CancellationToken& token_;
    int left_;
};

/// Runs trials in a worker, in groups of three and the last group first. Loses the results of the second
/// group of every call and stops, like a host that disappears.
class BackwardTrials final : public RemoteTrials {
  public:
    explicit BackwardTrials(bool loses_a_group) : loses_a_group_(loses_a_group) {}

    void run(const std::string& description, std::span<const PlannedTrial> trials,
             const std::function<void(std::span<const Trial>)>& finished) override {
        trainer::NullProgressSink progress;
        TrialWorker worker(description, 1, "cpu", progress, CancellationToken());
        constexpr std::size_t group = 3;
        for (std::size_t end = trials.size(), groups = 1; end > 0; end -= std::min(group, end), ++groups) {
            if (loses_a_group_ && groups == 2)
                return;
            const std::size_t begin = end - std::min(group, end);
            finished(worker.run(trials.subspan(begin, end - begin), progress, CancellationToken()));
        }
    }

  private:
    bool loses_a_group_;
};

class SearchTest : public ::testing::Test {
  protected:
    SearchTest() { write_days(folder_ / "days.csv", 320); }

    SearchOptions options() const {
        SearchOptions options;
        options.config.data = {(folder_ / "days.csv").string()};
        options.config.output = (folder_ / "output").string();
        options.config.features = {"calendar", "gap"};
        options.config.hidden_layers = {8};
        options.config.epochs = 2;
        options.config.batch_size = 16;
        options.config.threads = 1;
        options.config.device = "cpu";
        options.rules.vary = {"learning-rate=1e-4..1e-2@log", "dropout-rate=0|0.2"};
        options.rules.trials = 12;
        options.rules.folds.folds = 3;
        return options;
    }
    static SearchOutcome run(const SearchOptions& options) {
        trainer::NullProgressSink progress;
        return search(options, progress, CancellationToken());
    }
    static std::string refusal(const SearchOptions& options) {
        try {
            run(options);
        } catch (const Error& error) {
            return error.render();
        }
        return "accepted";
    }
    /// trials.csv without the seconds that each took.
    static std::string table_of(const fs::path& folder) {
        std::istringstream lines(read_file(folder / "trials.csv"));
        std::string text;
        for (std::string line; std::getline(lines, line);)
            text += line.substr(0, line.rfind(',')) + "\n";
        return text;
    }
    static OrderedJson results_of(const fs::path& folder) {
        return OrderedJson::parse(read_file(folder / "results.json"));
    }
    static SearchOptions resumed(const fs::path& folder) {
        SearchOptions options;
        options.config.resume_from_checkpoint = folder.string();
        options.given = {"resume_from_checkpoint"};
        return options;
    }

    rekindle::test::TemporaryFolder folder_;
};

TEST_F(SearchTest, TheSameForAnyNumberOfThreadsAndAfterAnInterruption) {
    for (const SearchMethod method : {SearchMethod::sobol, SearchMethod::halving}) {
        SearchOptions one = options();
        one.rules.method = method;
        const SearchOutcome whole = run(one);
        EXPECT_TRUE(fs::exists(whole.report));
        SearchOptions two = one;
        two.config.threads = 2;
        EXPECT_EQ(table_of(run(two).folder), table_of(whole.folder));

        CancellationToken token;
        StopSearch stop(token, 4);
        const SearchOutcome half = search(one, stop, token);
        ASSERT_TRUE(half.interrupted);
        EXPECT_FALSE(fs::exists(half.folder / "trials.csv"));
        const SearchOutcome rest = run(resumed(half.folder));
        EXPECT_EQ(rest.folder, half.folder);
        EXPECT_EQ(table_of(rest.folder), table_of(whole.folder));
        EXPECT_EQ(results_of(rest.folder), results_of(whole.folder));
    }
}

/// Starts a search in a child process and kills it when its database has grown to about `bytes`. Returns the
/// search's folder.
fs::path killed_search(const std::function<void()>& run, const fs::path& output, std::uintmax_t bytes) {
    const pid_t child = ::fork();
    if (child == 0) {
        run();
        ::_exit(0);
    }
    EXPECT_GE(child, 0);
    fs::path folder;
    const auto has_grown = [&] { // the database grows by whole pages
        std::error_code code;
        for (const auto& entry : fs::directory_iterator(output, code))
            if (entry.path().filename().string().starts_with("search_"))
                folder = entry.path();
        return !folder.empty() && fs::exists(folder / "search.sqlite-wal", code) &&
               fs::file_size(folder / "search.sqlite-wal", code) > bytes;
    };
    while (!has_grown() && ::waitpid(child, nullptr, WNOHANG) == 0)
        ::usleep(500);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return folder;
}

/// A process that dies at a random moment loses only what it had not finished: the finished trials keep the
/// seconds that they took, so none of them was trained again.
TEST_F(SearchTest, SurvivesAProcessThatIsKilled) {
    PhiloxStream random(15, RandomPurpose::test);
    for (const SearchMethod method : {SearchMethod::sobol, SearchMethod::halving}) {
        SearchOptions whole = options();
        whole.rules.trials = 200;
        whole.rules.method = method;
        whole.config.epochs = 3;
        const std::string expected = table_of(run(whole).folder);
        for (int round = 0; round < 2; ++round) {
            SearchOptions killed = whole;
            killed.config.output = (folder_ / fmt::format("killed-{}-{}", int(method), round)).string();
            const fs::path folder =
                killed_search([&] { run(killed); }, killed.config.output, 16'000 + random.next_below(60'000));
            ASSERT_FALSE(folder.empty());
            const std::vector<Trial> finished = TrialStore(folder / "search.sqlite").trials();
            EXPECT_GT(finished.size(), 0U);
            EXPECT_FALSE(run(resumed(folder)).interrupted);
            EXPECT_EQ(table_of(folder), expected);
            const std::vector<Trial> all = TrialStore(folder / "search.sqlite").trials();
            ASSERT_GE(all.size(), finished.size());
            for (std::size_t t = 0; t < finished.size(); ++t) {
                EXPECT_EQ(all[t].number, finished[t].number);
                EXPECT_EQ(all[t].rung, finished[t].rung);
                EXPECT_EQ(all[t].seconds, finished[t].seconds);
            }
        }
    }
}

/// The score of a setting is what walk-forward says about it.
TEST_F(SearchTest, ScoresAreThoseOfWalkForward) {
    for (const char* target : {"return", "direction"}) {
        SearchOptions searched = options();
        trainer::update_from_json(OrderedJson{{"target", target}}, searched.config);
        searched.rules.vary = {"learning-rate=1e-3|3e-3"};
        searched.rules.method = SearchMethod::grid;
        const SearchOutcome found = run(searched);
        const OrderedJson results = results_of(found.folder);

        WalkForwardOptions walked;
        trainer::update_from_json(OrderedJson::parse(read_file(found.folder / "best.json")), walked.config);
        walked.config.output = (folder_ / "walk").string();
        walked.rules = searched.rules.folds;
        trainer::NullProgressSink progress;
        const WalkForwardOutcome outcome = walk_forward(walked, progress, CancellationToken());
        const OrderedJson evaluation = results_of(outcome.folder).at("evaluation");
        EXPECT_NEAR(results.at("best").at("loss_saved_percent").get<double>(),
                    evaluation.at("scores").front().at("value").get<double>(), 1e-6)
            << target;
    }
}

TEST_F(SearchTest, MoreTrialsContinueASearch) {
    SearchOptions first = options();
    first.rules.trials = 5;
    const fs::path folder = run(first).folder;
    SearchOptions more = resumed(folder);
    more.rules.trials = 12;
    more.given_rules = {"trials"};
    EXPECT_EQ(run(more).trials, 12U);
    SearchOptions whole = options();
    whole.config.output = (folder_ / "whole").string();
    EXPECT_EQ(table_of(folder), table_of(run(whole).folder));
    more.rules.trials = 3;
    EXPECT_THAT(refusal(more), HasSubstr("cannot go back to 3"));
}

TEST_F(SearchTest, WorkersGiveTheSameResults) {
    for (const SearchMethod method : {SearchMethod::sobol, SearchMethod::halving}) {
        SearchOptions here = options();
        here.rules.method = method;
        here.config.epochs = 3;
        const SearchOutcome expected = run(here);
        SearchOptions there = here;
        there.config.output = (folder_ / "there").string();
        BackwardTrials lossy(true), complete(false);
        there.remote = &lossy;
        const SearchOutcome half = run(there);
        EXPECT_TRUE(half.interrupted);
        EXPECT_EQ(half.trials, 3U); // the group that arrived
        SearchOptions rest = resumed(half.folder);
        rest.remote = &complete;
        const SearchOutcome whole = run(rest);
        EXPECT_EQ(table_of(whole.folder), table_of(expected.folder));
        EXPECT_EQ(results_of(whole.folder), results_of(expected.folder));
        ASSERT_EQ(whole.settings.size(), 12U);
        EXPECT_EQ(whole.settings.front().settings, expected.settings.front().settings);
        EXPECT_EQ(whole.settings.front().timing, expected.settings.front().timing);
    }
}

TEST_F(SearchTest, AWorkerRefusesOtherBars) {
    const SearchOutcome outcome = run(options());
    const std::string description = read_file(outcome.folder / "search.json");
    write_days(folder_ / "days.csv", 300);
    trainer::NullProgressSink progress;
    try {
        const TrialWorker worker(description, 1, "cpu", progress, CancellationToken());
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_THAT(error.render(), HasSubstr("not those of the search"));
    }
    EXPECT_THROW(TrialWorker("{}", 1, "cpu", progress, CancellationToken()), Error);
}

TEST_F(SearchTest, FeaturesTargetsAndWindowsVary) {
    SearchOptions searched = options();
    searched.rules.vary = {"features=calendar|calendar,gap", "target=return|direction", "train-rows=60|90",
                           "hidden-layers=4|8,4"};
    searched.rules.method = SearchMethod::grid;
    const SearchOutcome outcome = run(searched);
    EXPECT_EQ(outcome.trials, 16U);
    const OrderedJson results = results_of(outcome.folder);
    EXPECT_GT(results.at("rows").get<int>(), 100);
    EXPECT_THAT(read_file(outcome.report), HasSubstr("Score by features"));
    searched.rules.objective = Objective::loss;
    EXPECT_THAT(refusal(searched), HasSubstr("losses of different targets"));
}

TEST_F(SearchTest, WrongUseIsNamed) {
    SearchOptions wrong = options();
    wrong.rules.vary = {};
    EXPECT_THAT(refusal(wrong), HasSubstr("no setting varies"));
    wrong.rules.vary = {"dropout-rate=0|0.1", "dropout_rate=0.2"};
    EXPECT_THAT(refusal(wrong), HasSubstr("varies twice"));
    wrong.rules.vary = {"epochs=1|2"};
    wrong.rules.method = SearchMethod::halving;
    EXPECT_THAT(refusal(wrong), HasSubstr("halving decides the epochs"));
    wrong = options();
    wrong.rules.folds.train_rows = 100'000;
    EXPECT_THAT(refusal(wrong), HasSubstr("rows"));
    EXPECT_FALSE(fs::exists(folder_ / "output")) << "a refused search leaves a folder";

    const fs::path folder = run(options()).folder;
    SearchOptions other = resumed(folder);
    other.config.epochs = 7;
    other.given.insert("epochs");
    EXPECT_THAT(refusal(other), HasSubstr("epochs = 2"));
    write_days(folder_ / "days.csv", 330);
    EXPECT_THAT(refusal(resumed(folder)), HasSubstr("the bars are not those"));
}

/// A device trains many settings as one population, but never networks of different files.
TEST_F(SearchTest, NetworksFromFilesVaryOnADevice) {
    std::string values;
    for (const std::size_t width : {3, 12}) {
        const std::vector<std::size_t> hidden{width};
        const fs::path file = folder_ / fmt::format("{}.json", width);
        write_file_atomically(file,
                              nlohmann::json(mlp::ModelDescription::default_network(7, hidden, 0)).dump());
        values += (values.empty() ? "" : "|") + file.string();
    }
    SearchOptions searched = options();
    searched.rules.method = SearchMethod::grid;
    searched.rules.vary = {"learning-rate=1e-3|3e-3", "model=" + values};
    const SearchOutcome expected = run(searched);
    searched.config.device = "gpu:0"; // a CPU driver stands in when there is no GPU
    searched.config.output = (folder_ / "device").string();
    const SearchOutcome found = run(searched);
    ASSERT_EQ(found.settings.size(), 4U);
    for (std::size_t t = 0; t < 4; ++t)
        EXPECT_NEAR(found.settings[t].loss_saved, expected.settings[t].loss_saved, 0.01) << t;
    EXPECT_GT(std::abs(expected.settings[0].loss_saved - expected.settings[2].loss_saved), 0.1);
    EXPECT_GT(std::abs(expected.settings[0].loss_saved - expected.settings[1].loss_saved), 0.1);
}

/// On a device, one population trains settings that differ in their dropout rate, with 0 among them.
TEST_F(SearchTest, DropoutRatesVaryOnADevice) {
    SearchOptions searched = options();
    searched.rules.method = SearchMethod::grid;
    searched.rules.vary = {"dropout-rate=0|0.2|0.6"};
    searched.config.hidden_layers = {16, 8};
    const SearchOutcome expected = run(searched);
    searched.config.device = "gpu:0"; // a CPU driver stands in when there is no GPU
    searched.config.output = (folder_ / "device").string();
    const SearchOutcome found = run(searched);
    ASSERT_EQ(found.settings.size(), 3U);
    for (std::size_t t = 0; t < 3; ++t)
        EXPECT_NEAR(found.settings[t].loss_saved, expected.settings[t].loss_saved, 0.01) << t;
    for (const std::size_t t : {1, 2})
        EXPECT_GT(std::abs(expected.settings[t].loss_saved - expected.settings[0].loss_saved), 0.1) << t;
}

TEST_F(SearchTest, DivergedTrialsAreCountedAndNotChosen) {
    SearchOptions searched = options();
    searched.config.clip_norm = 0;
    searched.config.optimizer = mlp::OptimizerSpec::Kind::sgd;
    searched.rules.vary = {"learning-rate=1e-3|1e30"};
    searched.rules.method = SearchMethod::grid;
    const OrderedJson results = results_of(run(searched).folder);
    EXPECT_EQ(results.at("diverged"), 1);
    EXPECT_EQ(results.at("best").at("trial"), 1);
}

} // namespace
} // namespace rekindle::research
