#pragma once
/// Small charts as plain data, drawn from one layout as SVG text (in the report) or by AGG as PNG.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// How a series is drawn. Series differ by dashes or marker shape as well as by color.
enum class Mark {
    line,
    step,           ///< a line that holds its value until the next x
    scatter,        ///< one marker per point
    bar,            ///< vertical, from zero to y, centered at x
    horizontal_bar, ///< from zero to x, centered at y: volume by price
};

/// Points whose x or y is not finite are skipped; lines break there.
struct Series {
    std::string name{}; ///< in the legend; "" for no entry
    Mark mark = Mark::line;
    std::vector<double> x{}, y{};
    int style = 0;        ///< color, dashes and marker, 0 to 5
    double bar_width = 1; ///< bars: in units of their axis
    bool strong = true;   ///< false: paler
};

/// A line across the plot with a label: a baseline, the point of control.
struct Rule {
    double value = 0;
    std::string label{};
    bool horizontal = true; ///< at a value of y
};

/// A shaded range: a value area, an interval.
struct Band {
    double low = 0, high = 0;
    std::string label{};
    bool horizontal = true; ///< between two values of y
};

struct Axis {
    std::string title{};                        ///< with its unit in parentheses: "loss (nats)"
    std::optional<double> minimum{}, maximum{}; ///< fixed ends; otherwise from the data
    bool include_zero = false;
    bool integers = false; ///< ticks at whole numbers only
    double padding = 0.04; ///< of the span, at ends that are not fixed
};

struct Chart {
    std::string title;
    std::string description = {}; ///< for people who cannot see it
    Axis x = {}, y = {};
    std::vector<Series> series = {};
    std::vector<Rule> rules = {};
    std::vector<Band> bands = {};
    bool diagonal = false; ///< the line y = x
    bool legend = true;
};

/// An <svg> element with that view box; colors and fonts come from the classes of report.css. Text is
/// escaped.
std::string render_svg(const Chart& chart, int width, int height);

/// Charts side by side, each of that size in pixels, on a light background. Atomic. Text is drawn in ASCII.
void write_png(const std::filesystem::path& path, std::span<const Chart> charts, int width, int height);

/// 1234567 → "1.23 M", 0.00012 → "1.2e-4": a tick's label when ticks are `step` apart.
std::string tick_label(double value, double step);
/// Round values inside [low, high], about `count` of them.
std::vector<double> tick_values(double low, double high, int count, bool integers = false);

} // namespace rekindle::trainer
