#include "page.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/contract_identity.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace rekindle::trainer {

namespace {

std::string scores_note(const ReportData& data) {
    if (!data.scores_note.empty())
        return data.scores_note;
    return fmt::format("Measured on {} that the model never saw in training. Intervals come from a block "
                       "bootstrap; a score whose interval contains the baseline shows nothing.",
                       counted(static_cast<std::int64_t>(data.evaluation.rows), data.row_noun));
}

void first_screen(Page& page, const ReportData& data) {
    page.header(fmt::format("{} report", name_of(data.kind)), data.title, data.synthetic,
                data.run + " \u00b7 finished " + data.finished + " \u00b7 " + data.program);
    const Evaluation& evaluation = data.evaluation;
    if (!evaluation.verdict.empty()) {
        page.raw(fmt::format("<section class=\"verdict {}\" aria-label=\"Verdict\">\n",
                             evaluation.has_edge ? "edge" : "no-edge"));
        page.verdict(evaluation.verdict, evaluation.has_edge);
        page.score_cards(evaluation.scores);
        if (!evaluation.scores.empty())
            page.paragraph(scores_note(data), "small");
        page.close_section();
    }
    page.warnings(data.warnings);
}

void final_part(Page& page, const ReportData& data) {
    if (!data.final_part)
        return;
    page.open_section("Final part: " + data.final_part->rows);
    page.verdict(data.final_part->evaluation.verdict, data.final_part->evaluation.has_edge, "finding");
    page.verdict_details(data.final_part->evaluation.verdict);
    page.close_section();
}

void sections(Page& page, const ReportData& data) {
    for (const ReportSection& section : data.sections) {
        page.open_section(section.title);
        page.charts(section.charts);
        for (const std::string& sentence : section.sentences)
            page.paragraph(sentence);
        for (const ReportTable& one : section.tables)
            page.table(one);
        page.close_section();
    }
}

void outcomes(Page& page, const ReportData& data) {
    const std::vector<Chart> charts = outcome_charts(data);
    if (charts.empty())
        return;
    page.open_section("Predictions and outcomes");
    page.charts(charts);
    page.paragraph("Target: " + data.target + ". On the dashed line, prediction and outcome agree.", "small");
    page.close_section();
}

void profiles(Page& page, const ReportData& data) {
    if (data.profiles.empty())
        return;
    page.open_section("Last sessions: volume by price");
    page.charts(profile_charts(data), "three");
    page.paragraph("Full color: the value area. Dashed line: the point of control (POC), the price with the "
                   "most volume.",
                   "small");
    page.close_section();
}

void details(Page& page, const ReportData& data) {
    if (!data.data.empty() || !data.tables.empty() || !data.notes.empty()) {
        page.open_section("Data");
        page.facts(data.data);
        page.notes(data.notes);
        for (const ReportTable& one : data.tables)
            page.table(one);
        page.close_section();
    }
    if (!data.timings.empty()) {
        page.open_section("Where the time went");
        page.timings(data.timings);
        page.close_section();
    }
    if (!data.configuration.empty()) {
        page.open_section("Configuration");
        page.open_details(counted(static_cast<std::int64_t>(data.configuration.size()), "setting"));
        page.facts(data.configuration);
        page.close_details();
        page.close_section();
    }
}

} // namespace

std::string ReportInput::text() const {
    const std::string names = fmt::format("{}", fmt::join(files, ", "));
    return instrument.empty() ? names : fmt::format("{} ({})", instrument, names);
}

void sort_inputs(std::vector<ReportInput>& inputs) {
    std::ranges::sort(inputs, {},
                      [](const ReportInput& input) { return std::pair(input.instrument, input.hash); });
}

ReportInput report_input(const market::ReadReport& read) {
    std::set<std::string> instruments;
    for (const market::ContractRows& contract : read.contracts)
        if (!contract.name.empty()) {
            const market::ContractIdentity identity = market::identify_contract(contract.name);
            instruments.insert(identity.has_month ? identity.instrument : contract.name);
        }
    ReportInput input{fmt::format("{}", fmt::join(instruments, "+")), {}, read.data_hash.hex()};
    for (const std::filesystem::path& file : read.files)
        input.files.push_back(file.filename().string());
    return input;
}

std::string render_report(const ReportData& data) {
    Page page(data.title + " \u2013 " + data.run);
    first_screen(page, data);
    final_part(page, data);
    if (const std::vector<Chart> charts = training_charts(data); !charts.empty()) {
        page.open_section("Training");
        page.charts(charts);
        page.close_section();
    }
    sections(page, data);
    outcomes(page, data);
    profiles(page, data);
    details(page, data);
    return page.finish(data.program);
}

void write_report(const std::filesystem::path& folder, const ReportData& data) {
    write_file_atomically(folder / "report.json", report_json(data));
    write_file_atomically(folder / "report.html", render_report(data));
}

} // namespace rekindle::trainer
