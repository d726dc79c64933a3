#include "inspect/words.h"
#include "sessions/session_names.h"

#include <rekindle/base/text.h>
#include <rekindle/market/inspect.h>

#include <algorithm>
#include <cmath>

namespace rekindle::market {
namespace {

constexpr std::size_t heading_width = 11;

/// Headings on the left, wrapped text on the right.
class Page {
  public:
    explicit Page(std::size_t width) : width_(std::max<std::size_t>(width, 40)) {}

    /// Adds a paragraph; later lines are indented like the first.
    void put(const std::string& heading, const std::string& text) {
        std::string line = heading;
        line.resize(std::max(heading.size() + 1, heading_width), ' ');
        bool fresh = true;
        for (const std::string_view word : split(text, ' ')) {
            if (!fresh && line.size() + 1 + word.size() > width_) {
                text_ += line + "\n";
                line.assign(heading_width, ' ');
                fresh = true;
            }
            line += (fresh ? "" : " ");
            line += word;
            fresh = false;
        }
        text_ += line + "\n";
    }
    /// Adds an indented line without wrapping.
    void put_line(const std::string& text) {
        const std::size_t end = text.find_last_not_of(' ') + 1;
        text_ += std::string(heading_width, ' ') + text.substr(0, end) + "\n";
    }
    std::string take() { return std::move(text_); }

  private:
    std::size_t width_;
    std::string text_;
};

std::string padded(std::string text, std::size_t width, bool right = false) {
    if (text.size() < width)
        text.insert(right ? 0 : text.size(), width - text.size(), ' ');
    return text;
}

std::string count(std::uint64_t value) {
    return with_thousands(static_cast<std::int64_t>(value));
}

void put_columns(const InspectReport& report, Page& page) {
    std::string used, unused;
    for (const RecognizedColumn& column : report.reading.columns) {
        const std::string place =
            std::to_string(column.position) + (column.header.empty() ? "" : " " + column.header);
        if (column.name.empty())
            unused += (unused.empty() ? "" : ", ") + place;
        else
            used += (used.empty() ? "" : ", ") + place + " = " + column.name;
    }
    page.put("Columns", used.empty() ? "none recognized" : used);
    if (!unused.empty())
        page.put("", "not used: " + unused);
}

std::string bar_length(const BarMetadata& metadata) {
    if (metadata.dates_only)
        return counted(metadata.bar_seconds / day_seconds, "day");
    return format_duration(static_cast<double>(metadata.bar_seconds));
}

void put_rows(const InspectReport& report, Page& page) {
    const ReadReport& reading = report.reading;
    std::string files;
    for (const auto& file : reading.files)
        files += (files.empty() ? "" : ", ") + file.string();
    page.put(reading.files.size() == 1 ? "File" : "Files", files);
    page.put("Format",
             reading.format + ", " + format_bytes(reading.bytes) + ", XXH3-128 " + reading.data_hash.hex());
    put_columns(report, page);
    page.put("Rows", counted(reading.rows, "bar") + " of " + bar_length(report.metadata) +
                         (report.metadata.dates_only ? " (each belongs to a date)" : "") +
                         (reading.rejected ? ", " + counted(reading.rejected, "row") + " rejected" : ""));
    const ReportTimes times(report);
    page.put("Span", times.text(reading.first_time) + " to " + times.text(reading.last_time));
    page.put("Tick",
             tick_text(reading) + (reading.prices_rounded
                                       ? "; " + counted(reading.prices_rounded, "price") + " rounded to it"
                                       : ""));
    if (report.sides) {
        const auto [bid, ask] = *report.sides;
        const double share = 100 * bid / std::max(bid + ask, 1.0);
        page.put("Sides", "volumes at the bid (" + shortest(std::round(10 * share) / 10) +
                              " %) and at the ask (" + shortest(std::round(10 * (100 - share)) / 10) +
                              " %); --features session,delta uses them");
    }
    page.put("VIX", reading.vix_source == "none" ? "none" : "from the " + reading.vix_source);
}

std::string hours_text(int begin, int end) {
    return format_minute(begin) + "-" + format_minute(end);
}

void put_instrument(const Instrument& instrument, Page& page) {
    std::string text = instrument.symbol + " (" + instrument.name + ")";
    if (instrument.tick > 0)
        text += ", tick " + shortest(instrument.tick);
    if (!instrument.currency.empty())
        text += ", " + shortest(instrument.point_value) + " " + instrument.currency + " per point";
    text += instrument.weekends ? ", seven days a week" : ", Monday to Friday";
    if (instrument.regular)
        text += ", regular hours " + hours_text(instrument.regular->open, instrument.regular->close);
    if (instrument.halt)
        text += ", halt " + hours_text(instrument.halt->begin, instrument.halt->end);
    page.put("Instrument", text + " " + instrument.zone);
}

void put_contracts(const InspectReport& report, Page& page) {
    std::string names;
    for (const ContractRows& contract : report.reading.contracts)
        names += (names.empty() ? "" : ", ") + quoted_contract(contract.name) + " " +
                 counted(contract.rows, "bar");
    page.put("Contracts", names.empty() ? "none named" : names);
    if (!report.roll_error.empty())
        page.put("Rolls", report.roll_error);
    for (const Roll& roll : report.plan.rolls)
        page.put(&roll == report.plan.rolls.data() ? "Rolls" : "",
                 format_date(roll.date) + " " + quoted_contract(report.metadata.contracts[roll.from]) +
                     " to " + quoted_contract(report.metadata.contracts[roll.to]) + ", gap " +
                     gap_text(report, roll) + ": " + roll.reason);
}

void put_sessions(const InspectReport& report, Page& page) {
    bool first = true;
    for (const SessionCount& kind : report.sessions) {
        std::string text = padded(hours_name(kind.hours), 3) + " by " + padded(length_name(kind.length), 5);
        if (!kind.refused.empty()) {
            text += "not possible: " + kind.refused;
        } else {
            text += counted(kind.sessions, "session");
            if (kind.sessions > 0)
                text += ", " + format_date(kind.first) + " to " + format_date(kind.last) + ", usually " +
                        counted(kind.median_bars, "bar, too few for a profile", "bars");
            const int lacking = lacking_sessions(report, kind);
            text += lacking > 0 ? "; the look-backs need " + std::to_string(lacking) + " more"
                                : "; enough for the look-backs";
        }
        page.put(first ? "Sessions" : "", text);
        first = false;
    }
    page.put("", "(days are " + (report.metadata.dates_only ? "dates of the file" : day_rule(report)) +
                     "; the default features need " + counted(report.sessions_needed, "session") +
                     " for their first row)");
}

void put_holes(const InspectReport& report, Page& page) {
    const ReportTimes times(report);
    for (const RegularPause& pause : report.regular_pauses)
        page.put("Pause", "from " + format_minute(pause.begin_minute) + " to " +
                              format_minute(pause.end_minute) + " " + times.local_zone() + " on " +
                              counted(pause.days, "day"));
    if (report.hole_seconds > 0)
        page.put("Holes", count(report.holes) + " of " +
                              format_duration(static_cast<double>(report.hole_seconds)) +
                              " or more inside trading days" + (report.holes ? ", the longest:" : ""));
    for (const Hole& hole : report.largest_holes)
        page.put_line(times.text(hole.after) + " + " +
                      format_duration(static_cast<double>(hole.before - hole.after)));
    if (!report.missing_day_count)
        return;
    std::string days;
    for (const std::int32_t day : report.missing_days)
        days += (days.empty() ? ": " : ", ") + format_date(day);
    if (*report.missing_day_count > report.missing_days.size())
        days += " ...";
    page.put("Missing", counted(*report.missing_day_count, "business day") + " without a bar" + days);
}

/// Bars of '#' over the hours of the timestamps' clock, one column per season.
void put_hours(const InspectReport& report, Page& page) {
    if (report.clock.seasons.empty())
        return;
    page.put("Volume", "by hour of the timestamps' clock and by the UTC offset of " + report.rules.zone +
                           " (#: 5 % of the busiest hour; .: less; -: no bar)");
    std::string header = padded("", 8);
    for (const SeasonProfile& season : report.clock.seasons)
        header += padded(season.season, 24);
    page.put_line(header);
    for (std::size_t hour = 0; hour < 24; ++hour) {
        std::string line = padded(format_minute(static_cast<int>(hour) * 60), 8);
        for (const SeasonProfile& season : report.clock.seasons) {
            const std::int64_t most =
                std::max<std::int64_t>(1, *std::max_element(season.volume.begin(), season.volume.end()));
            const auto length = static_cast<std::size_t>(20 * static_cast<double>(season.volume[hour]) /
                                                         static_cast<double>(most));
            line += padded(season.bars[hour] == 0 ? "-" : length == 0 ? "." : std::string(length, '#'), 24);
        }
        page.put_line(line);
    }
}

} // namespace

std::string render(const InspectReport& report, std::size_t width) {
    Page page(width);
    put_rows(report, page);
    if (report.instrument)
        put_instrument(*report.instrument, page);
    put_contracts(report, page);
    put_sessions(report, page);
    put_holes(report, page);
    put_hours(report, page);
    page.put("Clock", std::string(verdict_name(report.clock.verdict)) + ": " + report.clock.message);
    if (!report.clock.stamp_message.empty())
        page.put("Timestamps", report.clock.stamp_message);
    if (!report.clock.hours_message.empty())
        page.put("Hours", report.clock.hours_message);
    for (const std::string& warning : report.warnings)
        page.put("Warning", warning);
    if (!report.clock.day_message.empty())
        page.put("Days", report.clock.day_message);
    for (const auto* notes : {&report.reading.notes, &report.plan.notes})
        for (const std::string& note : *notes)
            page.put("Note", note);
    return page.take();
}

} // namespace rekindle::market
