#include "reading/report.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rekindle::market::reading {

namespace {

void note_columns(const std::vector<InputFile>& files, ReadReport& report) {
    std::vector<std::string> unused;
    for (const RecognizedColumn& column : report.columns)
        if (column.name.empty())
            unused.push_back(column.header.empty() ? fmt::format("number {}", column.position)
                                                   : column.header);
    if (!unused.empty())
        report.notes.push_back(fmt::format("Unused columns: {}.", fmt::join(unused, ", ")));
    for (const InputFile& file : files)
        if (file.layout.format != report.format)
            report.notes.push_back(
                fmt::format("{} has a different format: {}.", file.path.string(), file.layout.format));
    if (files.front().layout.columns.without_volume)
        report.notes.emplace_back("Every volume is 0 because there is no volume column (volume=none).");
}

void note_vix(const ReadOptions& options, const std::vector<InputFile>& files, const BarCollector& collector,
              ReadReport& report) {
    const bool has_column = std::any_of(files.begin(), files.end(), [](const InputFile& file) {
        return file.layout.columns.vix != no_column;
    });
    if (has_column && options.vix)
        report.notes.emplace_back("A VIX column is present but not used because a VIX file is given.");
    else if (has_column && collector.vix().empty())
        report.notes.emplace_back("A VIX column is present but contains no values.");
    else if (has_column)
        report.notes.emplace_back(
            "The VIX column is treated as daily closes: each value is used from 16:15 New York time on its "
            "date, because the file does not say when it was published.");
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
    for (const InputFile& file : files)
        if (file.newest_first)
            report.notes.push_back(
                fmt::format("{} runs from newest to oldest: it was read in reverse.", file.path.string()));
    note_columns(files, report);
    note_vix(options, files, collector, report);
    if (report.prices_rounded > 0) {
        const std::string tick = fmt::format("within 2 % of a tick of {}", shortest(report.tick.points));
        report.notes.push_back(
            counted(report.prices_rounded, "price " + tick + " was", "prices " + tick + " were") +
            " rounded (float noise).");
    }
    const FileLayout& layout = files.front().layout;
    if (layout.stamp.midnight)
        report.notes.emplace_back(
            "Every timestamp is midnight (00:00:00), so the bars are treated as daily bars.");
    else if (layout.stamps_begin_bars && options.stamp == StampAt::bar_end && !layout.stamp.dates_only())
        report.notes.push_back("The column " + header_of(layout, layout.columns.time) +
                               " holds the start of each bar but is read as its end: use --stamp start.");
    if (layout.stamp.offset && !layout.stamp.midnight && options.clock != Clock::raw)
        report.notes.emplace_back("The timestamps include their own UTC offset, which overrides --clock.");
    if (report.rejected > 0)
        report.notes.push_back(counted(report.rejected, "row was", "rows were") +
                               " skipped; rejected.csv says why.");
}

} // namespace rekindle::market::reading
