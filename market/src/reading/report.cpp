#include "reading/report.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rekindle::market::reading {

namespace {

void note_columns(const std::vector<InputFile>& files, ReadReport& report) {
    std::vector<std::string> unused;
    for (const RecognisedColumn& column : report.columns)
        if (column.name.empty())
            unused.push_back(column.header.empty() ? fmt::format("number {}", column.position)
                                                   : column.header);
    if (!unused.empty())
        report.notes.push_back(fmt::format("Columns that are not used: {}.", fmt::join(unused, ", ")));
    for (const InputFile& file : files)
        if (file.layout.format != report.format)
            report.notes.push_back(
                fmt::format("{} is of another format: {}.", file.path.string(), file.layout.format));
    if (files.front().layout.columns.without_volume)
        report.notes.emplace_back("Every volume is 0, since there is no column for it (volume=none).");
}

void note_vix(const ReadOptions& options, const std::vector<InputFile>& files, const BarCollector& collector,
              ReadReport& report) {
    const bool has_column = std::any_of(files.begin(), files.end(), [](const InputFile& file) {
        return file.layout.columns.vix != no_column;
    });
    if (has_column && options.vix)
        report.notes.emplace_back("A VIX column is present and unused, since a VIX file is given.");
    else if (has_column && collector.vix().empty())
        report.notes.emplace_back("A VIX column is present but holds no values.");
    else if (has_column)
        report.notes.emplace_back(
            "The VIX column is taken as daily closes: each is used from 16:15 New York time of its date on, "
            "because the file does not say when a value was published.");
}

} // namespace

void describe_files(const std::vector<InputFile>& files, ReadReport& report) {
    report.format = files.front().layout.format;
    report.columns = describe_columns(files.front().layout);
    for (const InputFile& file : files) {
        report.files.push_back(file.path);
        report.synthetic = report.synthetic || file.layout.synthetic;
    }
}

void add_notes(const ReadOptions& options, const std::vector<InputFile>& files, const BarCollector& collector,
               ReadReport& report) {
    for (const InputFile& file : files)
        for (const std::string& note : file.layout.notes)
            report.notes.push_back(note);
    note_columns(files, report);
    note_vix(options, files, collector, report);
    if (report.prices_rounded > 0)
        report.notes.push_back(fmt::format("{} prices within 2 % of a tick of {} were rounded (float noise).",
                                           with_thousands(static_cast<std::int64_t>(report.prices_rounded)),
                                           shortest(report.tick.points)));
    if (files.front().layout.stamp.offset && options.clock != Clock::raw)
        report.notes.emplace_back("The stamps carry their own offset from UTC, which goes before --clock.");
    if (report.rejected > 0)
        report.notes.push_back(fmt::format("{} rows were left out because they cannot be used.",
                                           with_thousands(static_cast<std::int64_t>(report.rejected))));
}

} // namespace rekindle::market::reading
