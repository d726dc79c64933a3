#include "../formats/archive_fixture.h"
#include "example_report.h"

#include <rekindle/trainer/report.h>

#include <gmock/gmock.h>

#include <regex>
#include <set>

namespace rekindle::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Every start tag has its end tag, in order.
void expect_balanced(const std::string& html) {
    const std::set<std::string> alone{"meta", "br"};
    std::vector<std::string> open;
    for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
        const std::string tag = html.substr(at + 1, html.find('>', at) - at - 1);
        const bool closes = tag.starts_with('/');
        const std::size_t end = tag.find_first_of(" \n/", 1);
        const std::string name =
            tag.substr(closes ? 1 : 0, end == std::string::npos ? end : end - (closes ? 1 : 0));
        if (tag.starts_with('!') || alone.contains(name) || tag.ends_with('/'))
            continue;
        if (!closes) {
            open.push_back(name);
        } else {
            ASSERT_FALSE(open.empty()) << name;
            ASSERT_EQ(open.back(), name) << "at " << at;
            open.pop_back();
        }
    }
    EXPECT_TRUE(open.empty()) << open.back();
}

TEST(Report, IsCompleteAndSelfContained) {
    const std::string html = render_report(fixtures::example_report());
    expect_balanced(html);
    EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
    for (const char* resource : {"<script", "http://", "https://", "<link", "@import", "url(", "<img"})
        EXPECT_THAT(html, Not(HasSubstr(resource)));
    EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
    EXPECT_THAT(html, HasSubstr("lang=\"en\""));
}

TEST(Report, ShowsVerdictAndBaselineBeforeAnyChart) {
    const std::string html = render_report(fixtures::example_report());
    const auto at = [&](const std::string& text) {
        EXPECT_THAT(html, HasSubstr(text));
        return html.find(text);
    };
    const std::size_t chart = at("class=\"chart\"");
    EXPECT_LT(at("</span> No edge</p>"), chart);
    EXPECT_LT(at("does not predict the log return of the next session better than a return of zero."), chart);
    EXPECT_LT(at("always up, the training majority"), chart);
    EXPECT_LT(at("46.7 to 56.2"), chart);
    EXPECT_LT(at("simulated bars"), chart);
    at("volume by price");
    at("XXH3-128 of the input");
    at("2025-03-01 12:00:06 UTC");
}

TEST(Report, EdgeIsShownInWordsAndShape) {
    ReportData data = fixtures::example_report();
    data.evaluation.has_edge = true;
    data.evaluation.verdict.label = "An edge";
    const std::string html = render_report(data);
    EXPECT_THAT(html, HasSubstr("\u25b2</span> An edge</p>"));
    EXPECT_THAT(html, Not(HasSubstr("No edge</p>")));
}

TEST(Report, EscapesEveryText) {
    ReportData data = fixtures::example_report();
    const std::string evil = "<b onclick=\"x\">&'";
    data.title = data.run = data.finished = data.program = data.target = data.loss_name = evil;
    data.target_unit = data.loss_unit = evil;
    data.evaluation.verdict = {evil, evil, evil};
    for (Score& score : data.evaluation.scores)
        score.name = score.unit = score.baseline_name = evil;
    data.profiles[0].label = evil;
    data.data = {{evil, evil}};
    data.tables = {{evil, {evil}, {{evil}}, evil}};
    data.configuration = {{evil, evil}};
    data.timings = {{evil, 1, evil}};
    data.warnings = data.notes = {evil};
    const std::string html = render_report(data);
    EXPECT_THAT(html, Not(HasSubstr("<b ")));
    EXPECT_THAT(html, Not(HasSubstr("onclick=\"")));
    expect_balanced(html);
}

/// On a narrow screen, the style sheet turns the rows of wide tables into blocks that name each column.
TEST(Report, WideTablesNameTheirColumns) {
    ReportData data = fixtures::example_report();
    data.sections.push_back(
        {.title = "Section",
         .charts = {},
         .sentences = {"Run: rekindle train --data x."},
         .tables = {{"Narrow", {"figure", "value"}, {{"a", "1 %"}}},
                    {"Wide", {"score", "value", "baseline", ""}, {{"b", "2", "<3>", "c"}}}}});
    const std::string html = render_report(data);
    expect_balanced(html);
    EXPECT_THAT(html, HasSubstr("<table><thead><tr><th scope=\"col\">figure"));
    EXPECT_THAT(html, HasSubstr("<td>a</td><td class=\"r\">1\u202f%</td>"));
    EXPECT_THAT(html, HasSubstr("<table class=\"blocks\"><thead><tr><th scope=\"col\">score"));
    EXPECT_THAT(html, HasSubstr("<td>b</td><td class=\"r\" data-column=\"value\">2</td>"
                                "<td data-column=\"baseline\">&lt;3&gt;</td><td>c</td>"));
    EXPECT_THAT(html, HasSubstr(".blocks td[data-column]::before"));
    EXPECT_THAT(html, HasSubstr("rekindle train <span class=\"option\">--data</span> x."));
}

TEST(Report, OmitsEmptyParts) {
    ReportData data;
    data.title = "nothing";
    const std::string html = render_report(data);
    expect_balanced(html);
    EXPECT_THAT(html, Not(HasSubstr("<h2>")));
    EXPECT_THAT(html, Not(HasSubstr("<figure>")));
    EXPECT_THAT(html, Not(HasSubstr("class=\"badge\"")));
}

TEST(Report, SurvivesFiguresThatAreNotFinite) {
    ReportData data = fixtures::example_report();
    for (EpochMetrics& epoch : data.history)
        epoch.validation_loss = epoch.train_loss = epoch.accuracy = NAN;
    data.evaluation.scores[0].value = NAN;
    data.evaluation.scores[1].interval = {-INFINITY, INFINITY};
    data.profiles[0].volumes.assign(data.profiles[0].volumes.size(), 0);
    data.predicted.assign(data.predicted.size(), NAN);
    const std::string html = render_report(data);
    expect_balanced(html);
    EXPECT_THAT(html, HasSubstr("unknown"));
    EXPECT_FALSE(std::regex_search(html, std::regex("[\" ](nan|inf|-inf)[\" ]")));
}

TEST(Report, SaysWhenPointsAreOmitted) {
    ReportData data = fixtures::example_report();
    data.predicted.assign(100'000, 0.1);
    data.actual.assign(100'000, 0.2);
    const std::string html = render_report(data);
    EXPECT_THAT(html, HasSubstr("every 67th of 100,000 validation rows"));
    EXPECT_LT(html.size(), 400'000U);
}

TEST(Report, ProfileSeparatesTheValueArea) {
    const Chart chart = profile_chart(fixtures::example_profile(4));
    ASSERT_EQ(chart.series.size(), 2U);
    EXPECT_FALSE(chart.series[0].strong);
    for (const double price : chart.series[1].y)
        EXPECT_TRUE(price >= 5940.25 && price <= 5960.5) << price;
    double volume = 0, whole = 0;
    for (const Series& series : chart.series)
        for (const double one : series.x)
            volume += one;
    for (const double one : fixtures::example_profile(4).volumes)
        whole += one;
    EXPECT_NEAR(volume, whole, 1e-6 * whole) << "grouping loses no volume";
}

} // namespace
} // namespace rekindle::trainer
