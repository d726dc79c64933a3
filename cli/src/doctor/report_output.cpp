#include "report_output.h"

#include "screen.h"

#include <rekindle/base/file.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace rekindle::cli {

namespace {

using namespace doctor;

std::string dump(const nlohmann::ordered_json& json, const Stream& stream) {
    return json.dump(2, ' ', !stream.traits().utf8, nlohmann::json::error_handler_t::replace);
}

void write_report(const std::string& path, Report report, const Knowledge& knowledge, bool remove_names) {
    if (remove_names)
        redact(report);
    const bool json = path.ends_with(".json");
    write_file_atomically(
        path,
        json ? to_json(report, knowledge).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
             : report_markdown(report, knowledge));
}

bool has_findings(const Report& report) {
    const auto counts = [](const Finding& one) { return one.severity != Severity::note; };
    return std::any_of(report.findings.begin(), report.findings.end(), counts) ||
           (!report.log.empty() && !report.ask.empty());
}

} // namespace

ExitStatus show_report(Context& context, Report report, const Knowledge& knowledge) {
    const CommandLine& line = context.line;
    const ExitStatus status = has_findings(report) ? ExitStatus::failed : ExitStatus::success;
    if (line.has("report"))
        write_report(line.text("report"), report, knowledge, !line.has("redact") || line.flag("redact"));
    if (line.flag("redact"))
        redact(report);
    if (line.flag("json"))
        context.output.line(dump(to_json(report, knowledge), context.output));
    else
        context.output.write(
            render_report(report, knowledge,
                          {.width = context.output.traits().width, .verbose = context.messages.verbose}));
    if (line.has("report") && !line.flag("json"))
        context.output.line(fmt::format("\nReport written to {}.", line.text("report")));
    return status;
}

} // namespace rekindle::cli
