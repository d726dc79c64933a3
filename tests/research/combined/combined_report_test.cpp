/// The verdict of a combined report, its order, its links and its errors, from made-up reports.

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/research/combined_report.h>

#include <gmock/gmock.h>

#include <temporary_folder.h>

namespace rekindle::research {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Not;
using trainer::Evidence;
using trainer::ReportKind;

enum class Finds { edge, none, too_little };

trainer::Evaluation evaluation(Finds finds, const std::string& finding) {
    trainer::Evaluation made;
    made.rows = 500;
    made.has_edge = finds == Finds::edge;
    made.verdict = {finds == Finds::edge ? "An edge" : "No edge", finding, "Details.",
                    finds == Finds::too_little};
    return made;
}

ReportedRun run(ReportKind kind, Finds finds, const std::string& folder = "") {
    const std::string name(trainer::name_of(kind));
    ReportedRun made{folder.empty() ? "runs/" + name : folder, {}};
    made.report.kind = kind;
    made.report.evidence = kind == ReportKind::training ? Evidence::single_split : Evidence::out_of_sample;
    made.report.evaluation = evaluation(finds, "finding of " + name);
    made.report.inputs = {{"ES", {"bars.csv"}, "00ff"}};
    made.report.judged = "500 rows";
    return made;
}

ReportedRun with_final(ReportedRun made, Finds finds, bool opened_before = false) {
    made.report.final_part =
        trainer::FinalPart{"90 rows", evaluation(finds, "finding of the end"), opened_before};
    return made;
}

std::string refusal_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        return error.render();
    }
    return "no error";
}

TEST(JudgeTogether, ATrainingRunAloneShowsNoEdge) {
    const auto [verdict, has_edge] = judge_together(std::vector{run(ReportKind::training, Finds::edge)});
    EXPECT_FALSE(has_edge);
    EXPECT_EQ(verdict.label, "Too little to tell");
    EXPECT_THAT(verdict.text(),
                HasSubstr("the training run finds an edge, but that is not enough by itself"));
    EXPECT_THAT(verdict.text(), HasSubstr("rekindle walk-forward"));
    EXPECT_EQ(judge_together(std::vector{run(ReportKind::training, Finds::none)}).verdict.label, "No edge");
    EXPECT_EQ(judge_together(std::vector{run(ReportKind::training, Finds::too_little)}).verdict.label,
              "Too little to tell");
}

TEST(JudgeTogether, CrossValidationAloneShowsNoEdge) {
    ReportedRun folds = run(ReportKind::walk_forward, Finds::edge);
    folds.report.evidence = Evidence::cross_validation;
    const auto [verdict, has_edge] =
        judge_together(std::vector{run(ReportKind::training, Finds::edge), folds});
    EXPECT_FALSE(has_edge);
    EXPECT_THAT(verdict.text(), HasSubstr("the cross-validation and the training run find an edge"));
}

TEST(JudgeTogether, AnEdgeNeedsAllStagesThatCanShowOne) {
    std::vector runs{run(ReportKind::training, Finds::edge), run(ReportKind::walk_forward, Finds::edge),
                     run(ReportKind::search, Finds::edge), run(ReportKind::backtest, Finds::edge)};
    const CombinedVerdict all = judge_together(runs);
    EXPECT_TRUE(all.has_edge);
    EXPECT_EQ(all.verdict.label, "Edge");
    EXPECT_EQ(all.verdict.finding,
              "in the backtest, finding of backtest; the search, the walk-forward and the "
              "training run agree");
    for (std::size_t changed = 1; changed < runs.size(); ++changed) {
        auto one = runs;
        one[changed] = run(one[changed].report.kind, Finds::none);
        const CombinedVerdict found = judge_together(one);
        EXPECT_FALSE(found.has_edge);
        EXPECT_EQ(found.verdict.label, "No edge");
        EXPECT_THAT(found.verdict.finding,
                    HasSubstr("finding of " + std::string(trainer::name_of(one[changed].report.kind)) +
                              "; the stages disagree: "));
        EXPECT_THAT(found.verdict.finding, HasSubstr("find an edge"));
    }
    runs[0] = run(ReportKind::training, Finds::none); // too weak to decide, but it is named
    EXPECT_TRUE(judge_together(runs).has_edge);
    EXPECT_THAT(judge_together(runs).verdict.text(), HasSubstr("the training run finds none"));
    EXPECT_EQ(judge_together(runs).verdict.label, "Edge, but the stages disagree");
}

TEST(JudgeTogether, AStageWithTooLittleDataDoesNotDecide) {
    const CombinedVerdict found = judge_together(std::vector{run(ReportKind::walk_forward, Finds::edge),
                                                             run(ReportKind::backtest, Finds::too_little)});
    EXPECT_TRUE(found.has_edge);
    EXPECT_THAT(found.verdict.finding,
                HasSubstr("in the walk-forward, finding of walk-forward; the backtest has "
                          "too little data to tell"));
    const CombinedVerdict none = judge_together(
        std::vector{run(ReportKind::training, Finds::edge), run(ReportKind::backtest, Finds::too_little)});
    EXPECT_FALSE(none.has_edge);
    EXPECT_EQ(none.verdict.label, "Too little to tell");
}

TEST(JudgeTogether, TheFinalPartDecides) {
    const auto both = [](Finds windows, Finds end, bool before = false) {
        return judge_together(std::vector{with_final(run(ReportKind::walk_forward, windows), end, before),
                                          run(ReportKind::backtest, windows)});
    };
    EXPECT_FALSE(both(Finds::edge, Finds::none).has_edge);
    EXPECT_THAT(
        both(Finds::edge, Finds::none).verdict.text(),
        HasSubstr("No edge: on the final part, finding of the end; the stages disagree: the backtest and "
                  "the walk-forward find an edge."));
    EXPECT_TRUE(both(Finds::none, Finds::edge).has_edge);
    EXPECT_EQ(both(Finds::none, Finds::edge).verdict.label, "Edge, but the stages disagree");
    EXPECT_THAT(both(Finds::none, Finds::edge).verdict.text(), HasSubstr("find none"));
    EXPECT_EQ(both(Finds::edge, Finds::edge).verdict.label, "Edge");
    EXPECT_THAT(both(Finds::edge, Finds::edge).verdict.text(), Not(HasSubstr("opened before")));
    EXPECT_THAT(both(Finds::edge, Finds::edge, true).verdict.text(), HasSubstr("opened before"));
    EXPECT_FALSE(both(Finds::edge, Finds::too_little).has_edge);
}

TEST(JudgeTogether, ABacktestOfValidationRowsShowsNoEdge) {
    ReportedRun traded = run(ReportKind::backtest, Finds::edge);
    traded.report.evidence = Evidence::single_split;
    const auto [verdict, has_edge] = judge_together(std::vector{traded});
    EXPECT_FALSE(has_edge);
    EXPECT_EQ(verdict.label, "Too little to tell");
}

TEST(JudgeTogether, DifferentTargetsAreNamed) {
    ReportedRun weeks = run(ReportKind::walk_forward, Finds::none),
                days = run(ReportKind::search, Finds::none);
    weeks.report.target = days.report.target = "the next week";
    EXPECT_THAT(judge_together(std::vector{weeks, days}).verdict.text(), Not(HasSubstr("different targets")));
    days.report.target = "the next day";
    EXPECT_THAT(judge_together(std::vector{weeks, days}).verdict.text(),
                HasSubstr("different targets: the next day; the next week."));
}

TEST(JudgeTogether, RunsOfOneKindAreToldApart) {
    const CombinedVerdict found =
        judge_together(std::vector{run(ReportKind::backtest, Finds::none, "runs/long"),
                                   run(ReportKind::backtest, Finds::edge, "runs/short")});
    EXPECT_EQ(found.verdict.finding, "in the backtest long, finding of backtest; the stages disagree: the "
                                     "backtest short finds an edge");
}

TEST(Combine, RefusesOtherDataAndNamesBoth) {
    ReportedRun other = run(ReportKind::backtest, Finds::none);
    other.report.inputs = {{"ES", {"copy.csv"}, "00ee"}};
    const auto with = [](const ReportedRun& second) {
        return refusal_of([&] { combine({run(ReportKind::training, Finds::none), second}, "page.html"); });
    };
    EXPECT_THAT(with(other),
                HasSubstr("runs/training read ES (bars.csv), XXH3-128 00ff, and runs/backtest read "
                          "ES (copy.csv), XXH3-128 00ee"));
    other.report.inputs = {{"NQ", {"bars.csv"}, "00ff"}};
    EXPECT_THAT(with(other), HasSubstr("NQ (bars.csv)"));
    other.report.inputs = {{"ES", {"renamed.csv"}, "00ff"}};
    EXPECT_EQ(with(other), "no error") << "a renamed file is the same data";
}

TEST(Combine, LinksAreRelativeToThePage) {
    const auto link = [](const fs::path& folder, const fs::path& page) {
        return combine({run(ReportKind::training, Finds::none, folder)}, page).stages.front().link;
    };
    EXPECT_EQ(link("runs/a", "page.html"), "runs/a/report.html");
    EXPECT_EQ(link("runs/a", "pages/page.html"), "../runs/a/report.html");
    EXPECT_EQ(link("runs/50 %", "page.html"), "runs/50%20%25/report.html");
    EXPECT_THAT(refusal_of([&] { link("runs/a", "runs/a/report.html"); }), HasSubstr("holds only the files"));
}

TEST(Combine, ThePageBeginsWithTheVerdictAndListsTheStages) {
    const std::string html = trainer::render_combined_report(
        combine({run(ReportKind::training, Finds::edge),
                 with_final(run(ReportKind::walk_forward, Finds::none), Finds::none)},
                "page.html"));
    const auto at = [&](const std::string& text) {
        EXPECT_THAT(html, HasSubstr(text));
        return html.find(text);
    };
    EXPECT_THAT(html, HasSubstr("Rekindle combined report"));
    EXPECT_LT(at("</span> No edge</p>"),
              at("On the final part, finding of the end; the walk-forward agrees; the "
                 "stages disagree: the training run finds an edge."));
    EXPECT_LT(at("On the final part"), at("<a href=\"runs/training/report.html\">Training</a>"));
    EXPECT_LT(at("runs/training/report.html"), at("runs/walk-forward/report.html"));
    EXPECT_LT(at("<td>Final part</td>"), at("<h2>Training</h2>"));
    EXPECT_LT(at("<h2>Training</h2>"), at("<h2>Walk-forward</h2>"));
}

class ReadReportsTest : public ::testing::Test {
  protected:
    fs::path made(const std::string& name, ReportKind kind, const char* mark) {
        const fs::path folder = folder_.path() / name;
        ensure_directory(folder);
        write_file_atomically(folder / mark, "{}");
        write_report(folder, run(kind, Finds::none).report);
        return folder;
    }
    test::TemporaryFolder folder_;
};

TEST_F(ReadReportsTest, FindsRunsInAnyOrderAndEachOnce) {
    const fs::path backtest = made("a/backtest", ReportKind::backtest, "backtest.json");
    const fs::path windows = made("a/b/windows", ReportKind::walk_forward, "walk-forward.json");
    const fs::path training = made("z/training", ReportKind::training, "config.json");
    ensure_directory(folder_.path() / ".train_1.partial");
    const std::vector<ReportedRun> runs = read_reports(std::vector{backtest, folder_.path(), windows / ""});
    std::vector<std::string> names;
    for (const ReportedRun& one : runs)
        names.push_back(one.folder.filename().string());
    EXPECT_EQ(names, (std::vector<std::string>{"training", "windows", "backtest"}));
}

TEST_F(ReadReportsTest, NamesTheCommandThatWritesAReport) {
    const fs::path windows = made("windows", ReportKind::walk_forward, "walk-forward.json");
    const auto error = [&](const fs::path& folder) {
        return refusal_of([&] { read_reports(std::vector{folder}); });
    };
    write_file_atomically(windows / "report.json", "{\"format\": \"rekindle-report/0\"}");
    EXPECT_THAT(error(windows), HasSubstr("report.json: this report has another format"));
    EXPECT_THAT(error(windows),
                HasSubstr("rekindle walk-forward --resume-from-checkpoint " + windows.string()));
    write_file_atomically(windows / "final.json", "{}"); // its report is about the final part as well
    EXPECT_THAT(error(windows), HasSubstr(windows.string() + " --final"));
    fs::remove(windows / "report.json");
    EXPECT_THAT(error(windows), HasSubstr("an earlier version of rekindle wrote this run"));
    fs::remove(windows / "report.html");
    EXPECT_THAT(error(folder_.path()), HasSubstr("the run is not finished"));
    const fs::path backtest = made("backtest", ReportKind::backtest, "backtest.json");
    fs::remove(backtest / "report.json");
    EXPECT_THAT(error(backtest), HasSubstr("--output " + backtest.string()));
    EXPECT_THAT(error(folder_.path() / "nowhere"), HasSubstr("the folder does not exist"));
    EXPECT_THAT(error(backtest / "report.html"), HasSubstr("this is a file"));
    ensure_directory(folder_.path() / "empty");
    EXPECT_THAT(error(folder_.path() / "empty"), HasSubstr("contains no run"));
}

} // namespace
} // namespace rekindle::research
