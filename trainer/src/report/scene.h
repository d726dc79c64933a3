#pragma once
/// A chart before it becomes SVG or pixels: shapes with a role instead of a color.

#include <rekindle/trainer/chart.h>

#include <string>
#include <variant>
#include <vector>

namespace rekindle::trainer {

enum class Ink { text, muted, ground, grid, axis, rule, band, series };
enum class Weight { hair, normal, strong };
enum class Anchor { start, middle, end };
enum class Font { label, title };

struct Point {
    double x = 0, y = 0;
};

struct Polyline {
    std::vector<Point> points;
    Ink ink = Ink::series;
    int style = 0;
    Weight weight = Weight::normal;
    bool dashed = false; ///< with the style's dashes
};

struct Box {
    double x = 0, y = 0, width = 0, height = 0;
    Ink ink = Ink::series;
    int style = 0;
    bool pale = false;
};

struct Marker {
    Point at;
    int style = 0;
    bool pale = false;
};

struct Text {
    Point at; ///< on the baseline
    std::string text;
    Ink ink = Ink::text;
    Anchor anchor = Anchor::start;
    Font font = Font::label;
};

using Shape = std::variant<Polyline, Box, Marker, Text>;

struct Scene {
    double width = 0, height = 0;
    std::vector<Shape> shapes;
};

/// Draws the chart into a scene of that size.
Scene lay_out(const Chart& chart, double width, double height);

/// Lengths of dashes and gaps in pixels; empty for a solid line.
std::vector<double> dashes_of(int style);
inline constexpr int style_count = 6;
/// Width in pixels of a text in the fonts of the PNG; the SVG's are a little narrower.
double text_width(const std::string& text, Font font);

} // namespace rekindle::trainer
