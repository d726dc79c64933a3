#include "report_output.h"

#include "screen.h"

#include <rekindle/foundation/file.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rekindle::cli {

namespace {

using namespace doctor;

std::string dump(const nlohmann::ordered_json& json, const Stream& stream) {
    return json.dump(2, ' ', !stream.traits().utf8, nlohmann::json::error_handler_t::replace);
}

} // namespace

void print_report(Context& context, Report report, const Knowledge& knowledge) {
    if (context.line.flag("redact"))
        redact(report);
    if (context.line.flag("json"))
        context.output.line(dump(to_json(report, knowledge), context.output));
    else
        context.output.write(
            render_report(report, knowledge,
                          {.width = context.output.traits().width, .verbose = context.messages.verbose}));
}

void write_report_file(Context& context, Report report, const Knowledge& knowledge) {
    const CommandLine& line = context.line;
    if (!line.has("report"))
        return;
    if (!line.has("redact") || line.flag("redact"))
        redact(report);
    const std::string path = line.text("report");
    const bool json = path.ends_with(".json");
    write_file_atomically(
        path,
        json ? to_json(report, knowledge).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
             : report_markdown(report, knowledge));
    if (!line.flag("json"))
        context.output.line(fmt::format("\nReport written to {}.", path));
}

} // namespace rekindle::cli
