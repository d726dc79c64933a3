#include "page.h"

#include <rekindle/base/text.h>
#include <rekindle/trainer/combined_report.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace rekindle::trainer {

namespace {

constexpr std::size_t main_charts = 2; ///< per stage; its other charts are under "Details"

std::string inputs_text(const ReportData& data) {
    std::vector<std::string> texts;
    for (const ReportInput& input : data.inputs)
        texts.push_back(input.text());
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::string cell(std::string_view text) {
    return "<td>" + Page::escape(text) + "</td>";
}

/// Writes a row for each verdict, with a link to the report of its stage.
void stage_table(Page& page, const CombinedReport& combined) {
    page.raw(
        "<div class=\"scroll\"><table class=\"stages\"><thead><tr><th scope=\"col\">stage</th><th "
        "scope=\"col\">verdict</th><th scope=\"col\">judged on</th><th scope=\"col\">data</th></tr></thead>"
        "<tbody>\n");
    for (const ReportStage& stage : combined.stages) {
        const ReportData& report = stage.report;
        page.raw(fmt::format("<tr><td><a href=\"{}\">{}</a></td>", Page::escape(stage.link),
                             title_of(report.kind)) +
                 cell(report.evaluation.verdict.label) + cell(report.judged) + cell(inputs_text(report)) +
                 "</tr>\n");
        if (report.final_part)
            page.raw("<tr><td>Final part</td>" + cell(report.final_part->evaluation.verdict.label) +
                     cell(report.final_part->rows) + cell(inputs_text(report)) + "</tr>\n");
    }
    page.raw("</tbody></table></div>\n");
}

ReportTable score_table(const ReportData& data) {
    ReportTable table{"Scores", {"score", "value", "95 % interval", "baseline", ""}};
    for (const Score& score : data.evaluation.scores)
        table.rows.push_back(
            {score.name, with_unit(figure(score.value), score.unit),
             score.without_interval.empty()
                 ? figure(score.interval.low) + " to " + with_unit(figure(score.interval.high), score.unit)
                 : "none: " + score.without_interval,
             with_unit(figure(score.baseline), score.unit), score.baseline_name});
    return table;
}

/// All charts and tables of a stage, most important first.
struct StageContents {
    std::vector<Chart> charts;
    std::vector<ReportTable> tables;
};

StageContents contents_of(const ReportData& data) {
    StageContents contents{training_charts(data), {}};
    const auto add = [](auto& all, const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
    for (const ReportSection& section : data.sections) {
        add(contents.charts, section.charts);
        add(contents.tables, section.tables);
    }
    add(contents.charts, outcome_charts(data));
    add(contents.tables, data.tables);
    std::erase_if(contents.tables, [](const ReportTable& table) { return table.rows.empty(); });
    return contents;
}

void stage_details(Page& page, const ReportData& data, const StageContents& contents, std::size_t charts,
                   std::size_t tables) {
    page.open_details(fmt::format("Details of {}: further charts and tables, data, settings", data.run));
    page.charts(std::span(contents.charts).subspan(charts));
    page.charts(profile_charts(data), "three");
    for (const ReportTable& table : std::span(contents.tables).subspan(tables))
        page.table(table);
    if (!data.data.empty() || !data.notes.empty()) {
        page.heading("Data");
        page.facts(data.data);
        page.notes(data.notes);
    }
    if (!data.configuration.empty()) {
        page.heading("Configuration");
        page.facts(data.configuration);
    }
    if (!data.timings.empty()) {
        page.heading("Where the time went");
        page.timings(data.timings);
    }
    page.close_details();
}

void stage_section(Page& page, const ReportStage& stage) {
    const ReportData& data = stage.report;
    page.open_section(title_of(data.kind));
    page.verdict(data.evaluation.verdict, data.evaluation.has_edge, "finding");
    page.verdict_details(data.evaluation.verdict);
    if (data.final_part) {
        page.heading("Final part: " + data.final_part->rows);
        page.verdict(data.final_part->evaluation.verdict, data.final_part->evaluation.has_edge, "finding");
        page.verdict_details(data.final_part->evaluation.verdict);
    }
    page.warnings(data.warnings);
    const StageContents contents = contents_of(data);
    const std::size_t charts = std::min(contents.charts.size(), main_charts);
    page.charts(std::span(contents.charts).first(charts));
    for (const ReportSection& section : data.sections)
        for (const std::string& sentence : section.sentences)
            page.paragraph(sentence);
    page.table(score_table(data));
    const bool one_table = !data.sections.empty() && !contents.tables.empty();
    if (one_table)
        page.table(contents.tables.front());
    stage_details(page, data, contents, charts, one_table ? 1 : 0);
    page.close_section();
}

} // namespace

std::string_view title_of(ReportKind kind) noexcept {
    constexpr std::array titles{"Training", "Walk-forward", "Search", "Backtest"};
    return titles[static_cast<std::size_t>(kind)];
}

std::string render_combined_report(const CombinedReport& report) {
    Page page(report.verdict.label + " \u2013 " + report.title);
    page.header(
        "combined report", report.title,
        std::ranges::any_of(report.stages, [](const ReportStage& stage) { return stage.report.synthetic; }),
        fmt::format("{} \u00b7 written {} \u00b7 {}", counted(report.stages.size(), "stage"), report.finished,
                    report.program));
    page.raw(fmt::format("<section class=\"verdict {}\" aria-label=\"Verdict\">\n",
                         report.has_edge ? "edge" : "no-edge"));
    page.verdict(report.verdict, report.has_edge);
    page.paragraph(report.verdict.details);
    stage_table(page, report);
    page.close_section();
    for (const ReportStage& stage : report.stages)
        stage_section(page, stage);
    return page.finish(report.program);
}

} // namespace rekindle::trainer
