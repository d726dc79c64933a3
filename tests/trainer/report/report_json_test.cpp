#include "example_report.h"

#include <rekindle/foundation/error.h>
#include <rekindle/trainer/report.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace rekindle::trainer {
namespace {

using ::testing::HasSubstr;

/// The example with every part of the format filled.
ReportData full_report() {
    ReportData data = fixtures::example_report();
    data.kind = ReportKind::walk_forward;
    data.evidence = Evidence::out_of_sample;
    data.inputs = {{"ES", {"a.csv", "b.csv"}, "9f0c"}};
    data.judged = "420 predicted rows";
    data.row_noun = "predicted row";
    data.final_part = FinalPart{"100 rows", data.evaluation, true};
    data.loss_unit = "nats";
    data.scores_note = "a note";
    data.evaluation.verdict.undecided = true;
    data.evaluation.scores[0].without_interval = "too few rows";
    data.sections = {{.title = "Section",
                      .charts = {loss_chart(data.history, "loss"), profile_chart(data.profiles[0])},
                      .sentences = {"A sentence."},
                      .tables = data.tables}};
    data.sections[0].charts[0].bands = {{1, 2, "band", false}};
    data.sections[0].charts[0].x.minimum = 0.5;
    return data;
}

std::string error_of(const nlohmann::ordered_json& json) {
    try {
        parse_report_json(json.dump());
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        return error.render();
    }
    return "no error";
}

TEST(ReportJson, IsReadAsItWasWritten) {
    const ReportData data = full_report();
    const std::string text = report_json(data);
    const ReportData read = parse_report_json(text);
    EXPECT_EQ(report_json(read), text);
    EXPECT_EQ(render_report(read), render_report(data));
    EXPECT_EQ(read.kind, ReportKind::walk_forward);
    EXPECT_EQ(read.inputs[0].text(), "ES (a.csv, b.csv)");
    EXPECT_EQ(read.final_part->evaluation.scores.size(), data.evaluation.scores.size());
    EXPECT_EQ(read.history.back().validation_loss, data.history.back().validation_loss);
    EXPECT_TRUE(read.evaluation.verdict.undecided);
}

TEST(ReportJson, FiguresThatAreNotFiniteSurvive) {
    ReportData data = full_report();
    data.evaluation.scores[0].value = NAN;
    data.predicted[3] = INFINITY;
    const ReportData read = parse_report_json(report_json(data));
    EXPECT_TRUE(std::isnan(read.evaluation.scores[0].value));
    EXPECT_TRUE(std::isnan(read.predicted[3]));
}

TEST(ReportJson, NamesWhatIsWrong) {
    const auto json = nlohmann::ordered_json::parse(report_json(full_report()));
    const auto broken = [&](const auto& change) {
        auto copy = json;
        change(copy);
        return error_of(copy);
    };
    EXPECT_THAT(error_of(nlohmann::ordered_json::array()), HasSubstr("this is not a report"));
    EXPECT_THAT(broken([](auto& j) { j["format"] = "rekindle-report/0"; }), HasSubstr("another format"));
    EXPECT_THAT(broken([](auto& j) { j.erase("judged"); }), HasSubstr("\"judged\" is missing"));
    EXPECT_THAT(broken([](auto& j) { j["title"] = 3; }), HasSubstr("\"title\""));
    EXPECT_THAT(broken([](auto& j) { j["kind"] = "predict"; }), HasSubstr("not one of training"));
    EXPECT_THAT(broken([](auto& j) { j["evaluation"]["rows"] = -1; }), HasSubstr("-1"));
    EXPECT_THAT(broken([](auto& j) { j["evaluation"]["rows"] = 1.5; }), HasSubstr("1.5"));
    EXPECT_THAT(broken([](auto& j) { j["predicted"].erase(0); }), HasSubstr("420 outcomes"));
    EXPECT_THAT(broken([](auto& j) { j["tables"][0]["rows"][0].erase(0); }), HasSubstr("has 4 cells"));
    EXPECT_THAT(broken([](auto& j) { j["profiles"][0]["prices"].erase(0); }), HasSubstr("volumes"));
    EXPECT_THAT(broken([](auto& j) { j["sections"][0]["charts"][0]["series"][0]["style"] = 6; }),
                HasSubstr("the style 6"));
    EXPECT_THAT(broken([](auto& j) { j["sections"] = 1; }), HasSubstr("a list is expected"));
}

TEST(Report, NamesItsKind) {
    ReportData data = fixtures::example_report();
    for (const auto& [kind, name] : {std::pair(ReportKind::training, "training"),
                                     {ReportKind::walk_forward, "walk-forward"},
                                     {ReportKind::search, "search"},
                                     {ReportKind::backtest, "backtest"}}) {
        data.kind = kind;
        EXPECT_THAT(render_report(data), HasSubstr("\"eyebrow\">Rekindle " + std::string(name) + " report<"));
    }
}

TEST(Report, ShowsTheFinalPartBeforeTheOtherSections) {
    const std::string html = render_report(full_report());
    const std::size_t at = html.find("<h2>Final part: 100 rows</h2>");
    ASSERT_NE(at, std::string::npos);
    EXPECT_LT(html.find("No edge</p>", at), html.find("<h2>Section</h2>"));
    EXPECT_THAT(html, HasSubstr("<p class=\"small\">Squared error reduction 0.31 %.</p>"));
}

} // namespace
} // namespace rekindle::trainer
