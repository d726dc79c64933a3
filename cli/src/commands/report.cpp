#include "commands.h"

#include <rekindle/foundation/file.h>
#include <rekindle/research/combined_report.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <vector>

namespace rekindle::cli {

namespace {

void print_text(Stream& output, const trainer::CombinedReport& combined, const std::string& page) {
    output.line(combined.verdict.text());
    output.line("");
    const auto stage = [&](std::string_view title, const trainer::Evaluation& evaluation,
                           const std::string& rows) {
        output.line(fmt::format("{:<13} {} ({})", fmt::format("{}:", title), evaluation.verdict.label, rows));
    };
    for (const trainer::ReportStage& one : combined.stages) {
        stage(trainer::title_of(one.report.kind), one.report.evaluation, one.report.judged);
        if (one.report.final_part)
            stage("Final part", one.report.final_part->evaluation, one.report.final_part->rows);
    }
    output.line("");
    output.line(fmt::format("report: {}", page));
}

} // namespace

ExitStatus run_report(Context& context) {
    const std::vector<std::filesystem::path> folders(context.line.positionals.begin(),
                                                     context.line.positionals.end());
    const std::string page = context.line.text("output", "rekindle-report.html");
    const trainer::CombinedReport combined = research::combine(research::read_reports(folders), page);
    write_file_atomically(page, trainer::render_combined_report(combined));
    if (context.messages.json || context.line.text("format") == "json")
        context.result(research::verdicts_json(combined, page));
    else
        print_text(context.output, combined, page);
    return ExitStatus::success;
}

} // namespace rekindle::cli
