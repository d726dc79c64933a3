#include "scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rekindle::trainer {

namespace {

constexpr double title_height = 22, legend_row = 18, axis_title_height = 16, tick_row = 18;
constexpr double edge = 6, swatch = 22, legend_gap = 16, label_gap = 6;
constexpr double label_ascent = 4; ///< from the middle of a label's line to its baseline
constexpr double pixels_per_x_tick = 75, pixels_per_y_tick = 42;
constexpr std::size_t max_points_per_pixel = 2;

struct AxisRange {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    void cover(double value) {
        if (std::isfinite(value)) {
            low = std::min(low, value);
            high = std::max(high, value);
        }
    }
};

AxisRange range_of(const Chart& chart, bool horizontal_axis) {
    const Axis& axis = horizontal_axis ? chart.x : chart.y;
    AxisRange range;
    for (const Series& series : chart.series) {
        for (const double value : horizontal_axis ? series.x : series.y)
            range.cover(value);
        if (series.mark == (horizontal_axis ? Mark::horizontal_bar : Mark::bar))
            range.cover(0);
        // A bar reaches half its width beyond its middle.
        if (series.mark == (horizontal_axis ? Mark::bar : Mark::horizontal_bar) && range.low <= range.high) {
            range.cover(range.low - series.bar_width / 2);
            range.cover(range.high + series.bar_width / 2);
        }
    }
    for (const Rule& rule : chart.rules)
        if (rule.horizontal != horizontal_axis)
            range.cover(rule.value);
    for (const Band& band : chart.bands)
        if (band.horizontal != horizontal_axis) {
            range.cover(band.low);
            range.cover(band.high);
        }
    if (axis.include_zero)
        range.cover(0);
    if (range.low > range.high)
        range = {0, 1};
    if (range.low == range.high) {
        const double room = range.low == 0 ? 1 : std::abs(range.low) * 0.05;
        range = {range.low - room, range.high + room};
    }
    const double padding = axis.padding * (range.high - range.low);
    const bool zero_is_low = range.low == 0, zero_is_high = range.high == 0;
    range.low = axis.minimum.value_or(zero_is_low ? 0 : range.low - padding);
    range.high = axis.maximum.value_or(zero_is_high ? 0 : range.high + padding);
    if (!(range.low < range.high))
        range.high = range.low + 1;
    return range;
}

class Layout {
  public:
    Layout(const Chart& chart, double width, double height)
        : chart_(chart), x_(range_of(chart, true)), y_(range_of(chart, false)) {
        scene_.width = width;
        scene_.height = height;
        headings();
        frame();
        for (const Band& band : chart.bands)
            draw(band);
        grid();
        if (chart.diagonal)
            diagonal();
        for (const Series& series : chart.series)
            draw(series);
        for (const Rule& rule : chart.rules)
            draw(rule);
    }
    Scene take() { return std::move(scene_); }

  private:
    void text(Point at, std::string content, Ink ink, Anchor anchor = Anchor::start,
              Font font = Font::label) {
        if (!content.empty())
            scene_.shapes.emplace_back(Text{at, std::move(content), ink, anchor, font});
    }
    /// On a patch of background, because it is drawn over the chart.
    void rule_label(Point at, const std::string& content, Anchor anchor) {
        if (content.empty())
            return;
        const double width = text_width(content, Font::label);
        scene_.shapes.emplace_back(Box{anchor == Anchor::end ? at.x - width - 2 : at.x - 2, at.y - 11,
                                       width + 4, 14, Ink::ground, 0, false});
        text(at, content, Ink::text, anchor);
    }
    void line(Point from, Point to, Ink ink, Weight weight = Weight::hair, bool dashed = false) {
        scene_.shapes.emplace_back(Polyline{{from, to}, ink, 1, weight, dashed});
    }

    double px(double x) const { return left_ + (x - x_.low) / (x_.high - x_.low) * (right_ - left_); }
    double py(double y) const { return bottom_ - (y - y_.low) / (y_.high - y_.low) * (bottom_ - top_); }

    /// Title, legend and the title of the y axis (upright, above the axis: easier to read than sideways).
    void headings() {
        double y = edge;
        if (!chart_.title.empty()) {
            y += title_height;
            text({edge, y - 7}, chart_.title, Ink::text, Anchor::start, Font::title);
        }
        if (chart_.legend)
            y = legend(y);
        if (!chart_.y.title.empty()) {
            y += axis_title_height;
            text({edge, y - 4}, chart_.y.title, Ink::muted);
        }
        top_ = y + edge;
    }

    double legend(double y) {
        double x = edge;
        bool any = false;
        for (const Series& series : chart_.series) {
            if (series.name.empty())
                continue;
            const double needed = swatch + label_gap + text_width(series.name, Font::label);
            if (any && x + needed > scene_.width - edge) {
                x = edge;
                y += legend_row;
            }
            any = true;
            const double middle = y + legend_row / 2;
            if (series.mark == Mark::line || series.mark == Mark::step)
                scene_.shapes.emplace_back(Polyline{
                    {{x, middle}, {x + swatch, middle}}, Ink::series, series.style, Weight::strong, true});
            else if (series.mark == Mark::scatter)
                scene_.shapes.emplace_back(Marker{{x + swatch / 2, middle}, series.style, !series.strong});
            else
                scene_.shapes.emplace_back(
                    Box{x + 4, middle - 5, swatch - 8, 10, Ink::series, series.style, !series.strong});
            text({x + swatch + label_gap, middle + label_ascent}, series.name, Ink::text);
            x += needed + legend_gap;
        }
        return any ? y + legend_row : y;
    }

    void frame() {
        bottom_ = scene_.height - edge - tick_row - (chart_.x.title.empty() ? 0 : axis_title_height);
        const int rows = std::max(2, static_cast<int>((bottom_ - top_) / pixels_per_y_tick));
        y_ticks_ = tick_values(y_.low, y_.high, rows, chart_.y.integers);
        double widest = 0;
        for (const double value : y_ticks_)
            widest = std::max(widest, text_width(tick_label(value, step(y_ticks_)), Font::label));
        left_ = edge + widest + label_gap + 2;
        right_ = scene_.width - edge - 12;
        const int columns = std::max(2, static_cast<int>((right_ - left_) / pixels_per_x_tick));
        x_ticks_ = tick_values(x_.low, x_.high, columns, chart_.x.integers);
    }

    static double step(const std::vector<double>& ticks) {
        return ticks.size() > 1 ? ticks[1] - ticks[0] : 0;
    }

    void grid() {
        for (const double value : y_ticks_) {
            const double y = py(value);
            line({left_, y}, {right_, y}, Ink::grid);
            text({left_ - label_gap, y + label_ascent}, tick_label(value, step(y_ticks_)), Ink::muted,
                 Anchor::end);
        }
        for (const double value : x_ticks_) {
            const double x = px(value);
            line({x, bottom_}, {x, bottom_ + 4}, Ink::axis);
            const std::string label = tick_label(value, step(x_ticks_));
            const double half = text_width(label, Font::label) / 2;
            text({std::min(x, scene_.width - half - 1), bottom_ + tick_row - 2}, label, Ink::muted,
                 Anchor::middle);
        }
        line({left_, bottom_}, {right_, bottom_}, Ink::axis);
        text({right_, scene_.height - edge}, chart_.x.title, Ink::muted, Anchor::end);
    }

    void diagonal() {
        const double low = std::max(x_.low, y_.low), high = std::min(x_.high, y_.high);
        if (low < high)
            line({px(low), py(low)}, {px(high), py(high)}, Ink::rule, Weight::normal, true);
    }

    void draw(const Band& band) {
        Box box{left_, top_, right_ - left_, bottom_ - top_, Ink::band, 0, true};
        if (band.horizontal) {
            box.y = std::max(top_, py(band.high));
            box.height = std::min(bottom_, py(band.low)) - box.y;
        } else {
            box.x = std::max(left_, px(band.low));
            box.width = std::min(right_, px(band.high)) - box.x;
        }
        scene_.shapes.emplace_back(box);
        text({right_ - 4, box.y + 13}, band.label, Ink::muted, Anchor::end);
    }

    /// A rectangle in pixels.
    struct Area {
        double left = 0, top = 0, right = 0, bottom = 0;
    };

    /// Whether the line between two points passes through the area.
    static bool crosses(Point from, Point to, const Area& area) {
        if (from.x > to.x)
            std::swap(from, to);
        const double begin = std::max(area.left, from.x), end = std::min(area.right, to.x);
        if (!(begin <= end))
            return false;
        const auto at = [&](double x) {
            return to.x == from.x ? to.y : from.y + (to.y - from.y) * (x - from.x) / (to.x - from.x);
        };
        const double first = to.x == from.x ? from.y : at(begin), last = at(end);
        return std::max(first, last) >= area.top && std::min(first, last) <= area.bottom;
    }

    /// Whether a series is drawn inside the area.
    bool has_ink(const Area& area) const {
        for (const Series& series : chart_.series)
            for (std::size_t i = 0; i < series.x.size(); ++i) {
                const Point here{px(series.x[i]), py(series.y[i])};
                const bool line = series.mark == Mark::line || series.mark == Mark::step;
                Point from = here;
                if (line && i > 0)
                    from = {px(series.x[i - 1]), py(series.y[i - 1])};
                else if (series.mark == Mark::bar)
                    from = {here.x, py(0)};
                else if (series.mark == Mark::horizontal_bar)
                    from = {px(0), here.y};
                Area wide = area;
                if (series.mark == Mark::bar) {
                    const double half = std::abs(px(series.bar_width) - px(0)) / 2;
                    wide.left -= half;
                    wide.right += half;
                }
                if (crosses(from, here, wide))
                    return true;
            }
        return false;
    }

    /// The point where the label of a horizontal rule ends. Takes the first place that no series crosses: at
    /// the right above or below the rule, then at the left. If all are crossed, the first is used.
    Point place_of_label(double y, double width) const {
        constexpr double above = -6, below = 16, ascent = 11, descent = 3, margin = 2;
        const bool room_above = y - top_ >= 14, room_below = bottom_ - y >= 18;
        const Point usual{right_ - margin, room_above ? y + above : y + below};
        for (const double end : {right_ - margin, left_ + width + 2 * margin})
            for (const double shift : {above, below})
                if ((shift == above ? room_above : room_below) &&
                    !has_ink({end - width, y + shift - ascent, end, y + shift + descent}))
                    return {end, y + shift};
        return usual;
    }

    void draw(const Rule& rule) {
        if (rule.horizontal) {
            const double y = py(rule.value);
            line({left_, y}, {right_, y}, Ink::rule, Weight::normal, true);
            rule_label(place_of_label(y, text_width(rule.label, Font::label)), rule.label, Anchor::end);
        } else {
            const double x = px(rule.value);
            line({x, top_}, {x, bottom_}, Ink::rule, Weight::normal, true);
            const bool at_left = x - left_ > (right_ - left_) / 2;
            rule_label({at_left ? x - 6 : x + 6, top_ + 11}, rule.label,
                       at_left ? Anchor::end : Anchor::start);
        }
    }

    void draw(const Series& series) {
        switch (series.mark) {
        case Mark::line:
        case Mark::step:
            lines(series);
            break;
        case Mark::scatter:
            markers(series);
            break;
        case Mark::bar:
        case Mark::horizontal_bar:
            bars(series);
            break;
        }
    }

    void lines(const Series& series) {
        Polyline current{{}, Ink::series, series.style, Weight::strong, true};
        const auto finish = [&] {
            if (current.points.size() == 1)
                scene_.shapes.emplace_back(Marker{current.points[0], series.style, false});
            else if (!current.points.empty())
                scene_.shapes.emplace_back(
                    Polyline{thinned(current.points), Ink::series, series.style, Weight::strong, true});
            current.points.clear();
        };
        for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
            if (!std::isfinite(series.x[i]) || !std::isfinite(series.y[i])) {
                finish();
                continue;
            }
            const Point next{px(series.x[i]), std::clamp(py(series.y[i]), top_, bottom_)};
            if (series.mark == Mark::step && !current.points.empty())
                current.points.push_back({next.x, current.points.back().y});
            current.points.push_back(next);
        }
        finish();
    }

    /// Of many points per pixel column, only the lowest and the highest are visible.
    std::vector<Point> thinned(const std::vector<Point>& points) const {
        const auto columns = static_cast<std::size_t>(std::max(1.0, right_ - left_));
        if (points.size() <= columns * max_points_per_pixel)
            return points;
        std::vector<Point> result;
        const std::size_t group = (points.size() + columns - 1) / columns;
        for (std::size_t begin = 0; begin < points.size(); begin += group) {
            const auto first = points.begin() + static_cast<std::ptrdiff_t>(begin);
            const auto last =
                points.begin() + static_cast<std::ptrdiff_t>(std::min(begin + group, points.size()));
            auto [low, high] =
                std::minmax_element(first, last, [](const Point& a, const Point& b) { return a.y < b.y; });
            if (high < low)
                std::swap(low, high);
            result.push_back(*low);
            if (high != low)
                result.push_back(*high);
        }
        return result;
    }

    void markers(const Series& series) {
        for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
            if (!std::isfinite(series.x[i]) || !std::isfinite(series.y[i]))
                continue;
            const Point at{px(series.x[i]), py(series.y[i])};
            if (at.x >= left_ - 1 && at.x <= right_ + 1 && at.y >= top_ - 1 && at.y <= bottom_ + 1)
                scene_.shapes.emplace_back(Marker{at, series.style, !series.strong});
        }
    }

    void bars(const Series& series) {
        const bool vertical = series.mark == Mark::bar;
        for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
            const double middle = vertical ? series.x[i] : series.y[i];
            const double length = vertical ? series.y[i] : series.x[i];
            if (!std::isfinite(middle) || !std::isfinite(length))
                continue;
            const double half = series.bar_width / 2;
            Box box{0, 0, 0, 0, Ink::series, series.style, !series.strong};
            if (vertical) {
                box.x = px(middle - half);
                box.width = std::max(1.0, px(middle + half) - box.x);
                box.y = std::min(py(length), py(0));
                box.height = std::abs(py(length) - py(0));
            } else {
                box.x = std::min(px(0), px(length));
                box.width = std::abs(px(length) - px(0));
                box.y = py(middle + half);
                box.height = std::max(0.8, py(middle - half) - box.y);
            }
            scene_.shapes.emplace_back(box);
        }
    }

    const Chart& chart_;
    Scene scene_;
    AxisRange x_, y_;
    std::vector<double> x_ticks_, y_ticks_;
    double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;
};

} // namespace

Scene lay_out(const Chart& chart, double width, double height) {
    return Layout(chart, width, height).take();
}

std::vector<double> dashes_of(int style) {
    switch (style % style_count) {
    case 1:
        return {7, 4};
    case 2:
        return {2, 3};
    case 3:
        return {9, 3, 2, 3};
    case 4:
        return {12, 4};
    case 5:
        return {4, 2};
    default:
        return {};
    }
}

std::vector<double> tick_values(double low, double high, int count, bool integers) {
    if (!(low < high) || count < 1 || !std::isfinite(high - low))
        return {low};
    const double rough = (high - low) / count;
    const double magnitude = std::pow(10.0, std::floor(std::log10(rough)));
    const double fraction = rough / magnitude;
    double step = magnitude * (fraction <= 1 ? 1 : fraction <= 2 ? 2 : fraction <= 5 ? 5 : 10);
    if (integers)
        step = std::max(1.0, step);
    std::vector<double> values;
    for (double index = std::ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index += 1)
        values.push_back(index * step);
    return values;
}

std::string tick_label(double value, double step) {
    const double size = std::max(std::abs(value), std::abs(step));
    if (std::abs(value) < 1e-9 * std::abs(step))
        return "0";
    for (const auto& [unit, letter] : {std::pair{1e9, " G"}, std::pair{1e6, " M"}, std::pair{1e4, " k"}})
        if (size >= unit) {
            const double divisor = unit == 1e4 ? 1e3 : unit;
            // Prices such as 18250 keep their digits.
            if (letter[1] == 'k' && std::abs(step) < 1000)
                break;
            const int decimals =
                std::abs(step) > 0
                    ? std::max(0, static_cast<int>(-std::floor(std::log10(std::abs(step) / divisor) + 1e-9)))
                    : 0;
            return fmt::format("{:.{}f}{}", value / divisor, decimals, letter);
        }
    if (size < 1e-4)
        return fmt::format("{:.1e}", value);
    const int decimals =
        std::abs(step) > 0
            ? std::clamp(static_cast<int>(-std::floor(std::log10(std::abs(step)) + 1e-9)), 0, 8)
            : 4;
    return fmt::format("{:.{}f}", value, decimals);
}

} // namespace rekindle::trainer
