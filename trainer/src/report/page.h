#pragma once
/// Writes the parts of a report's page as HTML: header, verdict, scores, charts, tables, lists of facts.
/// report.cpp and combined_report.cpp choose the parts of their pages and put them in order.

#include <rekindle/trainer/report.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::trainer {

/// Formats a figure for readers, with a typographic minus sign; "unknown" if it is not finite.
std::string figure(double value);
std::string with_unit(const std::string& text, const std::string& unit);

/// Collects the HTML of one page. All text is escaped.
class Page {
  public:
    /// Begins the page. `window_title` is what the browser shows as its title.
    explicit Page(std::string_view window_title);
    /// Ends the page and returns it.
    std::string finish(std::string_view program);

    /// `eyebrow` is the line above the title, `meta` the line below it.
    void header(std::string_view eyebrow, std::string_view title, bool synthetic, std::string_view meta);
    /// The label with its symbol, and the verdict as a sentence. `heading` is the CSS class of the sentence.
    void verdict(const Verdict& verdict, bool has_edge, std::string_view heading = "headline");
    /// The details of a verdict as a paragraph, unless verdict() already wrote them as its sentence.
    void verdict_details(const Verdict& verdict);
    void score_cards(std::span<const Score> scores);
    void paragraph(std::string_view text, std::string_view style = {});
    void warnings(std::span<const std::string> warnings);
    void notes(std::span<const std::string> notes);

    void open_section(std::string_view title);
    void close_section() { raw("</section>\n"); }
    void heading(std::string_view title) { raw("<h3>" + escape(title) + "</h3>\n"); }
    void open_details(std::string_view summary);
    void close_details() { raw("</details>\n"); }

    /// Charts side by side. `columns` is the CSS class of the grid, "two" or "three".
    void charts(std::span<const Chart> charts, std::string_view columns = "two");
    void table(const ReportTable& table);
    void facts(std::span<const ReportFact> facts);
    void timings(std::span<const StageTime> timings);

    /// Writes HTML without escaping it.
    void raw(std::string_view html) { out_ += html; }
    static std::string escape(std::string_view text);

  private:
    std::string out_;
};

/// Loss and accuracy by epoch; empty without a history.
std::vector<Chart> training_charts(const ReportData& data);
/// Charts of the outcomes by prediction and of the calibration; each only if there is data for it.
std::vector<Chart> outcome_charts(const ReportData& data);
/// One chart of the volume by price for each of the last sessions.
std::vector<Chart> profile_charts(const ReportData& data);

} // namespace rekindle::trainer
