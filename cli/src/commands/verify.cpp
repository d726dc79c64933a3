#include "commands.h"

#include <rekindle/base/text.h>
#include <rekindle/cli/text_layout.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/verify.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace rekindle::cli {

namespace {

/// "1.3e-07", "0.042", "31.2 M".
std::string figure(double value) {
    if (!std::isfinite(value))
        return "not a number";
    const double size = std::abs(value);
    if (size >= 1e6)
        return fmt::format("{:.1f} M", value / 1e6);
    if (size >= 100)
        return with_thousands(std::llround(value));
    return size != 0 && size < 1e-3 ? fmt::format("{:.1e}", value) : fmt::format("{:.3g}", value);
}

struct Cells {
    std::string name, expected, measured, result;
};

Cells cells_of(const mlp::VerifyRow& row) {
    return {row.name, row.bound ? fmt::format("<= {:g}", *row.bound) : "",
            row.value ? figure(*row.value) + (row.unit.empty() || row.bound ? "" : " " + row.unit) : "",
            std::string(mlp::name(row.outcome))};
}

/// The rows of one part. The first column is as wide as its text; numbers that do not fit next to it go below
/// it.
std::string part_table(std::span<const mlp::VerifyRow> rows, std::size_t width) {
    std::size_t name = rows.front().part.size(), expected = 8, measured = 8;
    for (const mlp::VerifyRow& row : rows) {
        const Cells cells = cells_of(row);
        name = std::max(name, display_width(cells.name));
        expected = std::max(expected, display_width(cells.expected));
        measured = std::max(measured, display_width(cells.measured));
    }
    const bool together = name + expected + measured + 16 <= width;
    std::string text;
    const auto add = [&](const Cells& cells, std::size_t indent) {
        std::string line = together ? fmt::format("{:{}}{:<{}}  {:>{}}  {:>{}}  {}", "", indent, cells.name,
                                                  name + 2 - indent, cells.expected, expected, cells.measured,
                                                  measured, cells.result)
                                    : indented(cells.name, width, indent) +
                                          fmt::format("{:>{}}  {:>{}}  {}", cells.expected, expected + 4,
                                                      cells.measured, measured, cells.result);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    };
    add({rows.front().part, "expected", "measured", ""}, 0);
    for (const mlp::VerifyRow& row : rows) {
        add(cells_of(row), 2);
        const bool matters =
            row.outcome == mlp::VerifyRow::Outcome::failed || row.outcome == mlp::VerifyRow::Outcome::not_run;
        if (matters && !row.detail.empty())
            text += indented(row.detail, width, 6);
    }
    return text;
}

std::string table(std::span<const mlp::VerifyRow> rows, std::size_t width) {
    std::string text;
    while (!rows.empty()) {
        const auto same = [&](const mlp::VerifyRow& row) { return row.part == rows.front().part; };
        const auto end = std::find_if_not(rows.begin(), rows.end(), same);
        const auto count = static_cast<std::size_t>(end - rows.begin());
        text += part_table(rows.first(count), width) + '\n';
        rows = rows.subspan(count);
    }
    return text;
}

std::string verdict(const trainer::VerifiedDevice& device) {
    const auto count = [&](mlp::VerifyRow::Outcome outcome) {
        return std::count_if(device.rows.begin(), device.rows.end(),
                             [&](const mlp::VerifyRow& row) { return row.outcome == outcome; });
    };
    return fmt::format("{} {}: {} passed, {} failed, {} not run, {}", device.info.address(), device.info.name,
                       counted(count(mlp::VerifyRow::Outcome::passed), "row"),
                       count(mlp::VerifyRow::Outcome::failed), count(mlp::VerifyRow::Outcome::not_run),
                       format_duration(device.seconds));
}

} // namespace

ExitStatus run_verify(Context& context) {
    const bool json = context.line.text("format") == "json" || context.messages.json;
    ProgressView view(context.errors, context.errors, context.messages);
    trainer::VerifySettings settings;
    settings.began = [&](const runtime::DeviceInfo& info) {
        view.info(fmt::format("{} {}, driver {} {}", info.address(), info.name, info.driver_name,
                              info.driver_info));
    };
    settings.row = [&](const mlp::VerifyRow& row) {
        view.log(LogLevel::debug, fmt::format("{}: {}: {}", row.part, row.name, mlp::name(row.outcome)));
    };
    settings.warning = [&](std::string_view text) { view.warning(text); };
    std::vector<trainer::VerifiedDevice> devices;
    for (const runtime::DeviceInfo& info : trainer::devices_to_verify(context.line.text("device")))
        devices.push_back(trainer::verify_device(info, settings));
    view.finish();

    const nlohmann::ordered_json report = trainer::verify_report(devices);
    if (context.line.has("report"))
        write_file_atomically(context.line.text("report"), report.dump(1) + "\n");
    if (json)
        context.result(report);
    else
        for (const trainer::VerifiedDevice& device : devices) {
            if (!context.messages.quiet)
                context.output.write(table(device.rows, context.output.current_width()));
            context.output.line(verdict(device));
        }
    const bool fine =
        std::all_of(devices.begin(), devices.end(), [](const auto& device) { return device.passed(); });
    return fine ? ExitStatus::success : ExitStatus::failed;
}

} // namespace rekindle::cli
