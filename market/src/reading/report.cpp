#include "reading/report.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

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
}

void note_sides(const std::vector<InputFile>& files, ReadReport& report) {
    const auto has_sides = [](const InputFile& file) { return file.layout.columns.has_sides(); };
    const auto without = std::ranges::find_if_not(files, has_sides);
    if (without != files.end() && std::ranges::any_of(files, has_sides))
        report.notes.push_back(fmt::format(
            "Volumes at the bid and at the ask are not used, because {} has none.", without->path.string()));
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

void note_numbers(const ReadOptions& options, const Totals& totals, ReadReport& report) {
    if (report.profile_bin > 0 && !options.profile_bin) {
        const std::string why = report.float_spacing > 0
                                    ? fmt::format("The prices are 32-bit floats, which are {:.3g} points "
                                                  "apart here, so they show no tick",
                                                  report.float_spacing)
                                    : "No tick fits the prices, as in adjusted series";
        report.notes.push_back(fmt::format(
            "{}: they are stored in steps of {}, and profiles use bins of {}, chosen from the price.", why,
            counted(report.tick.points, "point"), counted(report.profile_bin, "point")));
    }
    if (totals.negative_closes > 0)
        report.notes.push_back(fmt::format(
            "{} a close below zero ({}). Percentages of such prices mean nothing, so features and "
            "targets that need them are omitted there.",
            counted(totals.negative_closes, "row has", "rows have"),
            options.negative_prices ? "this market has traded there" : "a back-adjusted series?"));
    if (totals.unknown_volumes > 0)
        report.notes.push_back(counted(totals.unknown_volumes, "volume of -1 (not available) is",
                                       "volumes of -1 (not available) are") +
                               " read as 0.");
    if (totals.volumes_rounded > 0)
        report.notes.push_back(
            counted(totals.volumes_rounded, "volume", "volumes") +
            (report.volume_decimals > 0
                 ? fmt::format(" with more decimals were rounded to {}.",
                               counted(static_cast<std::uint64_t>(report.volume_decimals), "decimal"))
                 : " with a fraction were rounded to whole units."));
    if (report.volume_decimals > 0)
        report.notes.push_back(fmt::format("Volumes have fractions: they are stored in units of 10^-{}{}.",
                                           report.volume_decimals,
                                           totals.volumes_rounded > 0 ? "" : ", exactly"));
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
    note_sides(files, report);
    note_vix(options, files, collector, report);
    if (report.prices_rounded > 0) {
        report.notes.push_back(fmt::format(
            "{} rounded to the tick of {}, by at most {} % of it (float noise).",
            counted(report.prices_rounded, "price was", "prices were"), shortest(report.tick.points),
            shortest(std::max(0.01, std::ceil(10000 * report.largest_rounding) / 100))));
    }
    note_numbers(options, collector.totals(), report);
    const FileLayout& layout = files.front().layout;
    if (const auto& days = files.front().days) {
        if (!days->note().empty())
            report.notes.push_back(days->note());
    } else if (files.front().begins_bars)
        report.notes.push_back(fmt::format(
            "The format {} defines that a timestamp is the start of its bar, as with --stamp start.",
            layout.format));
    else if (layout.stamps_begin_bars)
        report.notes.push_back("The column " + header_of(layout, layout.columns.time) +
                               (options.stamp == StampAt::bar_start
                                    ? " holds the start of each bar, so a bar ends one bar length later."
                                    : " holds the start of each bar but is read as its end: omit --stamp."));
    if (!layout.stamp.zone.empty() && options.clock != Clock::raw)
        report.notes.push_back("The timestamps name their zone, " + layout.stamp.zone +
                               ", which overrides --clock.");
    if (layout.stamp.offset && !files.front().days && options.clock != Clock::raw)
        report.notes.emplace_back("The timestamps include their own UTC offset, which overrides --clock.");
    if (report.rejected > 0)
        report.notes.push_back(counted(report.rejected, "row was", "rows were") +
                               " skipped; rejected.csv says why.");
}

} // namespace rekindle::market::reading

namespace rekindle::market {

std::string tick_text(const ReadReport& report) {
    if (report.profile_bin > 0)
        return (report.float_spacing > 0
                    ? fmt::format("none (32-bit floats, {:.3g} points apart)", report.float_spacing)
                    : "none") +
               "; profiles use bins of " + counted(report.profile_bin, "point");
    return counted(report.tick.points, "point") + (report.tick_inferred ? ", inferred from the prices" : "");
}

} // namespace rekindle::market
