#include "page.h"

#include "html.h"

#include <rekindle/base/text.h>
#include <rekindle/trainer/embedded.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace rekindle::trainer {

namespace {

constexpr int wide_chart = 500, chart_height = 320, profile_width = 320, profile_height = 340;

/// Escapes the text, and keeps options of a command line whole: a browser may break a line after a hyphen.
std::string with_whole_options(std::string_view text) {
    std::string html;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        html +=
            word.starts_with("--") ? "<span class=\"option\">" + escaped(word) + "</span>" : escaped(word);
        if (end == text.size())
            break;
        html += ' ';
        text.remove_prefix(end + 1);
    }
    return html;
}

/// Escapes the text, and keeps each percent sign on the line of its number.
std::string with_attached_percent(std::string_view text) {
    std::string html = escaped(text);
    for (std::size_t at = html.find(" %"); at != std::string::npos; at = html.find(" %", at))
        html.replace(at, 1, "\u202f");
    return html;
}

/// Draws a score, its interval and its baseline, to show whether the interval contains the baseline.
std::string interval_picture(const Score& score) {
    constexpr double width = 240, height = 34, margin = 10, middle = 13;
    double low = std::min({score.interval.low, score.baseline, score.value});
    double high = std::max({score.interval.high, score.baseline, score.value});
    if (!score.without_interval.empty() || !std::isfinite(low) || !std::isfinite(high))
        return {};
    if (!(low < high)) {
        low -= 1;
        high += 1;
    }
    const auto x = [&](double value) {
        return coordinate(margin + (value - low) / (high - low) * (width - 2 * margin));
    };
    std::string svg = fmt::format(
        "<svg class=\"interval\" viewBox=\"0 0 {} {}\" role=\"img\"><title>{}</title>", width, height,
        escaped(fmt::format("{}: {}, 95 % interval {} to {}, baseline {}", score.name,
                            with_unit(figure(score.value), score.unit), figure(score.interval.low),
                            figure(score.interval.high), with_unit(figure(score.baseline), score.unit))));
    svg += fmt::format("<path class=\"l c-grid\" d=\"M0 {0}H{1}\"/>", middle, width);
    svg += fmt::format("<path class=\"l c-s0 range\" d=\"M{} {}H{}\"/>", x(score.interval.low), middle,
                       x(score.interval.high));
    svg += fmt::format("<path class=\"l c-rule w2\" d=\"M{} 3V23\"/>", x(score.baseline));
    svg += fmt::format("<circle class=\"f c-s0\" cx=\"{}\" cy=\"{}\" r=\"4.5\"/>", x(score.value), middle);
    const double at = (score.baseline - low) / (high - low);
    svg += fmt::format("<text class=\"c-muted {}\" x=\"{}\" y=\"33\">baseline</text></svg>",
                       at < 0.2   ? ""
                       : at > 0.8 ? "e"
                                  : "m",
                       x(score.baseline));
    return svg;
}

std::string interval_text(const Score& score) {
    if (!score.without_interval.empty())
        return "no interval: " + score.without_interval;
    return "95\u202f% interval " + figure(score.interval.low) + " to " +
           with_unit(figure(score.interval.high), score.unit);
}

std::string short_time(double seconds) {
    if (seconds < 1)
        return fmt::format("{:.1f}\u202fms", 1000 * seconds);
    return format_duration(seconds);
}

/// Whether the text is a number and not a date. Columns of numbers are aligned right.
bool is_figure(std::string_view text) {
    for (const std::string_view sign : {"-", "+", "\u2212", "$"})
        if (text.starts_with(sign))
            text.remove_prefix(sign.size());
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0 &&
           text.find_first_of("-:/") == std::string_view::npos;
}

} // namespace

std::string figure(double value) {
    if (!std::isfinite(value))
        return "unknown";
    // A typographic minus sign is as wide as a digit, so columns stay aligned.
    std::string text = fmt::format("{:.3g}", value);
    if (std::abs(value) >= 1000)
        text = fmt::format("{:.0f}", value);
    if (text.starts_with('-'))
        text.replace(0, 1, "\u2212");
    return text;
}

std::string with_unit(const std::string& text, const std::string& unit) {
    return unit.empty() ? text : text + "\u202f" + unit;
}

std::string Page::escape(std::string_view text) {
    return escaped(text);
}

Page::Page(std::string_view window_title) {
    out_ += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
            escaped(window_title) + "</title>\n<style>\n";
    out_ += embedded_file("report.css");
    out_ += "</style>\n</head>\n<body>\n<main>\n";
}

std::string Page::finish(std::string_view program) {
    out_ += "</main>\n<footer><p>Written by " + escaped(program) +
            ". A score on past prices is no guarantee for future ones. This page loads no outside "
            "resources.</p></footer>\n</body>\n</html>\n";
    return std::move(out_);
}

void Page::header(std::string_view eyebrow, std::string_view title, bool synthetic, std::string_view meta) {
    out_ += "<header>\n<p class=\"eyebrow\">Rekindle " + escaped(eyebrow) + "</p>\n<h1>" + escaped(title);
    if (synthetic)
        out_ += " <span class=\"tag\">simulated bars</span>";
    out_ += "</h1>\n<p class=\"meta\">" + escaped(meta) + "</p>\n</header>\n";
}

void Page::verdict(const Verdict& verdict, bool has_edge, std::string_view heading) {
    out_ += fmt::format("<p class=\"badge{}\"><span aria-hidden=\"true\">{}</span> {}</p>\n<p "
                        "class=\"{}\">{}</p>\n",
                        has_edge ? " found" : "", has_edge ? "\u25b2" : "\u25a0", escaped(verdict.label),
                        heading, escaped(verdict.headline()));
}

void Page::verdict_details(const Verdict& verdict) {
    std::string text = verdict.finding.empty() ? "" : verdict.details;
    if (text.empty())
        return;
    if (text[0] >= 'a' && text[0] <= 'z')
        text[0] = static_cast<char>(text[0] - 'a' + 'A');
    paragraph(text, "small");
}

void Page::score_cards(std::span<const Score> scores) {
    if (scores.empty())
        return;
    out_ += "<div class=\"scores\">\n";
    for (const Score& score : scores)
        out_ += "<div class=\"score\"><p class=\"name\">" + escaped(score.name) + "</p><p class=\"value\">" +
                escaped(with_unit(figure(score.value), score.unit)) + "</p>" + interval_picture(score) +
                "<p class=\"small\">" + escaped(interval_text(score)) + "<br>baseline " +
                escaped(with_unit(figure(score.baseline), score.unit)) + ": " + escaped(score.baseline_name) +
                "; " + (score.higher_is_better ? "higher" : "lower") + " is better</p></div>\n";
    out_ += "</div>\n";
}

void Page::paragraph(std::string_view text, std::string_view style) {
    out_ += (style.empty() ? std::string("<p>") : fmt::format("<p class=\"{}\">", style)) +
            with_whole_options(text) + "</p>\n";
}

void Page::warnings(std::span<const std::string> warnings) {
    for (const std::string& warning : warnings)
        out_ += "<p class=\"note warning\"><strong>Warning.</strong> " + escaped(warning) + "</p>\n";
}

void Page::notes(std::span<const std::string> notes) {
    for (const std::string& note : notes)
        paragraph(note, "note");
}

void Page::open_section(std::string_view title) {
    out_ += "<section>\n<h2>" + escaped(title) + "</h2>\n";
}

void Page::open_details(std::string_view summary) {
    out_ += "<details><summary>" + escaped(summary) + "</summary>\n";
}

void Page::charts(std::span<const Chart> charts, std::string_view columns) {
    if (charts.empty())
        return;
    const bool wide = columns == "two";
    out_ += fmt::format("<div class=\"grid {}\">\n", columns);
    for (const Chart& chart : charts)
        out_ += "<figure>" +
                render_svg(chart, wide ? wide_chart : profile_width, wide ? chart_height : profile_height) +
                "</figure>\n";
    out_ += "</div>\n";
}

void Page::table(const ReportTable& table) {
    if (table.rows.empty())
        return;
    // On a narrow screen, the rows of these tables become blocks in which each value has its column's name.
    const bool blocks = table.columns.size() > 3;
    out_ += "<h3>" + escaped(table.title) + "</h3>\n<div class=\"scroll\"><table" +
            (blocks ? " class=\"blocks\"" : "") + "><thead><tr>";
    std::vector<bool> right(table.columns.size());
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        right[i] = std::ranges::all_of(table.rows,
                                       [&](const auto& row) { return i < row.size() && is_figure(row[i]); });
        out_ += std::string("<th scope=\"col\"") + (right[i] ? " class=\"r\">" : ">") +
                escaped(table.columns[i]) + "</th>";
    }
    out_ += "</tr></thead><tbody>\n";
    for (const auto& row : table.rows) {
        out_ += "<tr>";
        for (std::size_t i = 0; i < row.size(); ++i) {
            out_ += i < right.size() && right[i] ? "<td class=\"r\"" : "<td";
            if (blocks && i > 0 && i < table.columns.size() && !table.columns[i].empty())
                out_ += " data-column=\"" + escaped(table.columns[i]) + "\"";
            out_ += ">" + with_attached_percent(row[i]) + "</td>";
        }
        out_ += "</tr>\n";
    }
    out_ += "</tbody></table></div>\n";
    if (!table.caption.empty())
        out_ += "<p class=\"small\">" + escaped(table.caption) + "</p>\n";
}

void Page::facts(std::span<const ReportFact> facts) {
    if (facts.empty())
        return;
    out_ += "<dl>\n";
    for (const auto& [name, value] : facts)
        out_ += "<div><dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd></div>\n";
    out_ += "</dl>\n";
}

void Page::timings(std::span<const StageTime> timings) {
    double longest = 0, total = 0;
    for (const StageTime& timing : timings) {
        longest = std::max(longest, timing.seconds);
        total += timing.seconds;
    }
    out_ += "<div class=\"scroll\"><table class=\"timings\"><thead><tr><th scope=\"col\">stage</th><th "
            "scope=\"col\" class=\"r\">time</th><th aria-hidden=\"true\"></th><th "
            "scope=\"col\">work</th></tr></thead><tbody>\n";
    for (const StageTime& timing : timings)
        out_ += fmt::format("<tr><td>{}</td><td class=\"r\">{}</td><td class=\"meter\" "
                            "aria-hidden=\"true\"><i style=\"width:{:.1f}%\"></i></td><td>{}</td></tr>\n",
                            escaped(timing.stage), escaped(short_time(timing.seconds)),
                            longest > 0 ? 100 * timing.seconds / longest : 0.0, escaped(timing.summary));
    out_ += fmt::format(
        "</tbody><tfoot><tr><td>all stages</td><td class=\"r\">{}</td><td></td><td></td></tr></tfoot>"
        "</table></div>\n",
        escaped(short_time(total)));
}

std::vector<Chart> training_charts(const ReportData& data) {
    if (data.history.empty())
        return {};
    return {loss_chart(data.history, data.loss_unit.empty() ? data.loss_name
                                                            : data.loss_name + " (" + data.loss_unit + ")"),
            accuracy_chart(data.history)};
}

std::vector<Chart> outcome_charts(const ReportData& data) {
    std::vector<Chart> charts;
    if (!data.predicted.empty())
        charts.push_back(outcome_chart(data));
    if (!data.evaluation.calibration.empty())
        charts.push_back(calibration_chart(data));
    return charts;
}

std::vector<Chart> profile_charts(const ReportData& data) {
    std::vector<Chart> charts;
    for (const ReportProfile& profile : data.profiles)
        charts.push_back(profile_chart(profile));
    return charts;
}

} // namespace rekindle::trainer
