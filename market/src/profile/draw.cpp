#include <rekindle/base/text.h>
#include <rekindle/market/profile_output.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

namespace rekindle::market {
namespace {

constexpr std::size_t narrowest = 24;
constexpr std::size_t width_that_shows_volumes = 60;
constexpr std::size_t marker_width = 3;

/// One line of the drawing.
struct Row {
    std::string price;
    std::string marker;
    std::string volume;
    std::int64_t units = 0;
    bool in_value_area = false;
};

/// Rows from the highest price down. Each covers the same number of ticks and starts at a multiple of that
/// number.
struct Drawing {
    std::vector<Row> rows;
    Ticks ticks_per_row = 1;
    std::int64_t most = 0;
};

std::int64_t floor_to(std::int64_t value, std::int64_t step) {
    const std::int64_t quotient = value / step;
    return (value % step < 0 ? quotient - 1 : quotient) * step;
}

Drawing arrange(const VolumeProfile& profile, const ProfileFigures& figures, std::size_t max_rows) {
    const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(max_rows, 1));
    const std::int64_t lowest = profile.lowest();
    const std::int64_t highest = profile.highest();
    std::int64_t step = (highest - lowest + rows) / rows;
    // Alignment can require one more row.
    while (rows > 1 && (floor_to(highest, step) - floor_to(lowest, step)) / step + 1 > rows)
        ++step;
    const std::int64_t bottom = rows > 1 ? floor_to(lowest, step) : lowest;
    Drawing drawing;
    drawing.ticks_per_row = static_cast<Ticks>(step);
    const auto contains = [step](std::int64_t low, double price) {
        return price >= static_cast<double>(low) && price < static_cast<double>(low + step);
    };
    for (std::int64_t low = bottom; low <= highest; low += step) {
        Row row;
        row.price = price_text(static_cast<double>(low), profile.tick());
        for (std::int64_t price = low; price < low + step; ++price)
            row.units += profile.volume_at(static_cast<Ticks>(price));
        row.volume = with_thousands((row.units + (std::int64_t{1} << (volume_fraction_bits - 1))) >>
                                    volume_fraction_bits);
        row.marker += contains(low, figures.value_area_high) ? "H" : "";
        row.marker += contains(low, figures.point_of_control) ? "P" : "";
        row.marker += contains(low, figures.value_area_low) ? "L" : "";
        row.in_value_area = static_cast<double>(low + step) > figures.value_area_low &&
                            static_cast<double>(low) <= figures.value_area_high;
        drawing.most = std::max(drawing.most, row.units);
        drawing.rows.push_back(std::move(row));
    }
    std::reverse(drawing.rows.begin(), drawing.rows.end());
    return drawing;
}

/// A bar drawn in eighths of a column; at least the smallest mark if there is any volume.
std::string bar_text(const Row& row, std::int64_t most, std::size_t width, bool utf8) {
    if (row.units == 0 || most == 0)
        return "";
    const double columns =
        static_cast<double>(row.units) / static_cast<double>(most) * static_cast<double>(width);
    std::string text;
    if (!utf8) {
        const auto whole = std::max<std::size_t>(static_cast<std::size_t>(std::lround(columns)), 1);
        return std::string(whole, row.in_value_area ? '#' : '-');
    }
    if (!row.in_value_area) {
        for (std::size_t i = std::max<std::size_t>(static_cast<std::size_t>(std::lround(columns)), 1); i > 0;
             --i)
            text += "░";
        return text;
    }
    constexpr std::array<std::string_view, 8> part{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const auto eighths = std::max<std::size_t>(static_cast<std::size_t>(std::lround(columns * 8)), 1);
    for (std::size_t i = eighths / 8; i > 0; --i)
        text += "█";
    return text + std::string(part[eighths % 8]);
}

/// The words, wrapped to lines of at most `columns`.
std::string wrapped(std::string_view text, std::size_t columns) {
    std::string lines;
    std::size_t used = 0;
    for (const std::string_view word : split(text, ' ')) {
        if (used > 0 && used + 1 + word.size() > columns) {
            lines += '\n';
            used = 0;
        }
        if (used > 0) {
            lines += ' ';
            ++used;
        }
        lines += word;
        used += word.size();
    }
    return lines + "\n";
}

std::string_view color_of(const Row& row) {
    if (row.marker.find('P') != std::string::npos)
        return "\033[1;33m";
    return row.in_value_area ? "\033[36m" : "\033[2m";
}

std::string legend(const VolumeProfile& profile, const ProfileFigures& figures, const Drawing& drawing,
                   const DrawOptions& options, std::size_t columns) {
    const auto price = [&](double ticks) { return price_text(ticks, profile.tick()); };
    const char* level = options.bins ? "bin" : "tick";
    return wrapped(fmt::format("P = point of control {}, H = value area high {}, L = value area low {}",
                               price(figures.point_of_control), price(figures.value_area_high),
                               price(figures.value_area_low)),
                   columns) +
           wrapped(fmt::format("{} inside the value area, {} outside", options.utf8 ? "█" : "#",
                               options.utf8 ? "░" : "-"),
                   columns) +
           wrapped(fmt::format("One row is {} ({}); total volume {}", counted(drawing.ticks_per_row, level),
                               with_noun(price(drawing.ticks_per_row), "point"),
                               with_thousands(profile.total_volume())),
                   columns);
}

} // namespace

std::string draw_profile(const VolumeProfile& profile, const ProfileFigures& figures,
                         const DrawOptions& options) {
    if (profile.empty())
        return "There are no bars to draw.\n";
    const std::size_t columns = std::max(options.columns, narrowest);
    const Drawing drawing = arrange(profile, figures, options.rows);
    std::size_t price_width = 0;
    std::size_t volume_width = 0;
    for (const Row& row : drawing.rows) {
        price_width = std::max(price_width, row.price.size());
        volume_width = std::max(volume_width, row.volume.size());
    }
    const bool show_volumes = columns >= width_that_shows_volumes;
    const std::size_t taken = price_width + 1 + marker_width + 1 + (show_volumes ? volume_width + 1 : 0);
    const std::size_t bar_width = columns > taken ? columns - taken : 1;
    std::string text;
    for (const Row& row : drawing.rows) {
        text += fmt::format("{:>{}} {:<{}} ", row.price, price_width, row.marker, marker_width);
        if (show_volumes)
            text += fmt::format("{:>{}} ", row.volume, volume_width);
        const std::string bar = bar_text(row, drawing.most, bar_width, options.utf8);
        text += options.color && !bar.empty() ? fmt::format("{}{}\033[0m", color_of(row), bar) : bar;
        while (text.back() == ' ')
            text.pop_back();
        text += '\n';
    }
    return text + legend(profile, figures, drawing, options, columns);
}

} // namespace rekindle::market
