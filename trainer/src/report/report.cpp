#include "html.h"

#include <rekindle/base/file.h>
#include <rekindle/base/text.h>
#include <rekindle/trainer/embedded.h>
#include <rekindle/trainer/report.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rekindle::trainer {

namespace {

constexpr int wide_chart = 500, chart_height = 320, profile_width = 320, profile_height = 340;

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

/// The interval of a score on its own scale, with the baseline, to show whether the baseline lies inside.
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

class Page {
  public:
    explicit Page(const ReportData& data) : data_(data) {
        head();
        first_screen();
        training();
        sections();
        outcomes();
        profiles();
        tables();
        timings();
        configuration();
        footer();
    }
    std::string take() { return std::move(out_); }

  private:
    void head() {
        out_ += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
                escaped(data_.title) + " \u2013 " + escaped(data_.run) + "</title>\n<style>\n";
        out_ += embedded_file("report.css");
        out_ += "</style>\n</head>\n<body>\n<main>\n";
    }

    void first_screen() {
        const Evaluation& evaluation = data_.evaluation;
        out_ += "<header>\n<p class=\"eyebrow\">Rekindle " + escaped(data_.kind) + "</p>\n<h1>" +
                escaped(data_.title);
        if (data_.synthetic)
            out_ += " <span class=\"tag\">simulated bars</span>";
        out_ += "</h1>\n<p class=\"meta\">" + escaped(data_.run) + " \u00b7 finished " +
                escaped(data_.finished) + " \u00b7 " + escaped(data_.program) + "</p>\n</header>\n";

        if (!evaluation.verdict.empty()) {
            out_ += fmt::format("<section class=\"verdict {}\" aria-label=\"Verdict\">\n"
                                "<p class=\"badge\"><span aria-hidden=\"true\">{}</span> {}</p>\n<p "
                                "class=\"headline\">{}</p>\n",
                                evaluation.has_edge ? "edge" : "no-edge",
                                evaluation.has_edge ? "\u25b2" : "\u25a0", escaped(evaluation.verdict.label),
                                escaped(evaluation.verdict.headline()));
            scores();
            out_ += "</section>\n";
        }
        for (const std::string& warning : data_.warnings)
            out_ += "<p class=\"note warning\"><strong>Warning.</strong> " + escaped(warning) + "</p>\n";
    }

    void scores() {
        const Evaluation& evaluation = data_.evaluation;
        if (evaluation.scores.empty())
            return;
        out_ += "<div class=\"scores\">\n";
        for (const Score& score : evaluation.scores)
            out_ += "<div class=\"score\"><p class=\"name\">" + escaped(score.name) +
                    "</p><p class=\"value\">" + escaped(with_unit(figure(score.value), score.unit)) + "</p>" +
                    interval_picture(score) + "<p class=\"small\">" + escaped(interval_text(score)) +
                    "<br>baseline " + escaped(with_unit(figure(score.baseline), score.unit)) + ": " +
                    escaped(score.baseline_name) + "; " + (score.higher_is_better ? "higher" : "lower") +
                    " is better</p></div>\n";
        out_ += "</div>\n<p class=\"small\">" + escaped(scores_note()) + "</p>\n";
    }

    std::string scores_note() const {
        if (!data_.scores_note.empty())
            return data_.scores_note;
        return fmt::format("Measured on {} that the model never saw in training. Intervals come from a block "
                           "bootstrap; a score whose interval contains the baseline shows nothing.",
                           counted(static_cast<std::int64_t>(data_.evaluation.rows), "validation row"));
    }

    void open(const std::string& title) { out_ += "<section>\n<h2>" + escaped(title) + "</h2>\n"; }
    void close() { out_ += "</section>\n"; }

    void chart(const Chart& chart, int width, int height) {
        out_ += "<figure>" + render_svg(chart, width, height) + "</figure>\n";
    }

    void training() {
        if (data_.history.empty())
            return;
        open("Training");
        out_ += "<div class=\"grid two\">\n";
        chart(loss_chart(data_.history, data_.loss_unit.empty()
                                            ? data_.loss_name
                                            : data_.loss_name + " (" + data_.loss_unit + ")"),
              wide_chart, chart_height);
        chart(accuracy_chart(data_.history), wide_chart, chart_height);
        out_ += "</div>\n";
        close();
    }

    void sections() {
        for (const ReportSection& section : data_.sections) {
            open(section.title);
            out_ += "<div class=\"grid two\">\n";
            for (const Chart& one : section.charts)
                chart(one, wide_chart, chart_height);
            out_ += "</div>\n";
            for (const std::string& sentence : section.sentences)
                out_ += "<p>" + escaped(sentence) + "</p>\n";
            for (const ReportTable& one : section.tables)
                table(one);
            close();
        }
    }

    void outcomes() {
        if (data_.predicted.empty() && data_.evaluation.calibration.empty())
            return;
        open("Predictions and outcomes");
        out_ += "<div class=\"grid two\">\n";
        if (!data_.predicted.empty())
            chart(outcome_chart(data_), wide_chart, chart_height);
        if (!data_.evaluation.calibration.empty())
            chart(calibration_chart(data_), wide_chart, chart_height);
        out_ += "</div>\n<p class=\"small\">Target: " + escaped(data_.target) +
                ". On the dashed line, prediction and outcome agree.</p>\n";
        close();
    }

    void profiles() {
        if (data_.profiles.empty())
            return;
        open("Last sessions: volume by price");
        out_ += "<div class=\"grid three\">\n";
        for (const ReportProfile& profile : data_.profiles)
            chart(profile_chart(profile), profile_width, profile_height);
        out_ += "</div>\n<p class=\"small\">Full color: the value area. Dashed line: the point of control "
                "(POC), the price with the most volume.</p>\n";
        close();
    }

    /// Whether the text is a number and not a date: columns of numbers are aligned right.
    static bool is_figure(std::string_view text) {
        for (const std::string_view sign : {"-", "+", "\u2212", "$"})
            if (text.starts_with(sign))
                text.remove_prefix(sign.size());
        return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0 &&
               text.find_first_of("-:/") == std::string_view::npos;
    }

    void table(const ReportTable& table) {
        if (table.rows.empty())
            return;
        out_ += "<h3>" + escaped(table.title) + "</h3>\n<div class=\"scroll\"><table><thead><tr>";
        std::vector<bool> right(table.columns.size());
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            right[i] = std::ranges::all_of(
                table.rows, [&](const auto& row) { return i < row.size() && is_figure(row[i]); });
            out_ += std::string("<th scope=\"col\"") + (right[i] ? " class=\"r\">" : ">") +
                    escaped(table.columns[i]) + "</th>";
        }
        out_ += "</tr></thead><tbody>\n";
        for (const auto& row : table.rows) {
            out_ += "<tr>";
            for (std::size_t i = 0; i < row.size(); ++i)
                out_ += std::string(i < right.size() && right[i] ? "<td class=\"r\">" : "<td>") +
                        escaped(row[i]) + "</td>";
            out_ += "</tr>\n";
        }
        out_ += "</tbody></table></div>\n";
        if (!table.caption.empty())
            out_ += "<p class=\"small\">" + escaped(table.caption) + "</p>\n";
    }

    void facts(const std::vector<ReportFact>& facts) {
        out_ += "<dl>\n";
        for (const auto& [name, value] : facts)
            out_ += "<div><dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd></div>\n";
        out_ += "</dl>\n";
    }

    void tables() {
        if (data_.data.empty() && data_.tables.empty() && data_.notes.empty())
            return;
        open("Data");
        if (!data_.data.empty())
            facts(data_.data);
        for (const std::string& note : data_.notes)
            out_ += "<p class=\"note\">" + escaped(note) + "</p>\n";
        for (const ReportTable& one : data_.tables)
            table(one);
        close();
    }

    void timings() {
        if (data_.timings.empty())
            return;
        double longest = 0, total = 0;
        for (const StageTime& timing : data_.timings) {
            longest = std::max(longest, timing.seconds);
            total += timing.seconds;
        }
        open("Where the time went");
        out_ += "<div class=\"scroll\"><table class=\"timings\"><thead><tr><th scope=\"col\">stage</th><th "
                "scope=\"col\" class=\"r\">time</th><th aria-hidden=\"true\"></th><th "
                "scope=\"col\">work</th></tr></thead><tbody>\n";
        for (const StageTime& timing : data_.timings)
            out_ += fmt::format("<tr><td>{}</td><td class=\"r\">{}</td><td class=\"meter\" "
                                "aria-hidden=\"true\"><i style=\"width:{:.1f}%\"></i></td><td>{}</td></tr>\n",
                                escaped(timing.stage), escaped(short_time(timing.seconds)),
                                longest > 0 ? 100 * timing.seconds / longest : 0.0, escaped(timing.summary));
        out_ += fmt::format(
            "</tbody><tfoot><tr><td>all stages</td><td class=\"r\">{}</td><td></td><td></td></tr></tfoot>"
            "</table></div>\n",
            escaped(short_time(total)));
        close();
    }

    static std::string short_time(double seconds) {
        if (seconds < 1)
            return fmt::format("{:.1f}\u202fms", 1000 * seconds);
        return format_duration(seconds);
    }

    void configuration() {
        if (data_.configuration.empty())
            return;
        open("Configuration");
        out_ += "<details><summary>" +
                counted(static_cast<std::int64_t>(data_.configuration.size()), "setting") + "</summary>\n";
        facts(data_.configuration);
        out_ += "</details>\n";
        close();
    }

    void footer() {
        out_ += "</main>\n<footer><p>Written by " + escaped(data_.program) +
                ". A score on past prices is no guarantee for future ones. This page loads no outside "
                "resources.</p>"
                "</footer>\n</body>\n</html>\n";
    }

    const ReportData& data_;
    std::string out_;
};

} // namespace

std::string render_report(const ReportData& data) {
    return Page(data).take();
}

void write_report(const std::filesystem::path& path, const ReportData& data) {
    write_file_atomically(path, render_report(data));
}

} // namespace rekindle::trainer
