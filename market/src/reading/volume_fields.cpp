#include "reading/volume_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rekindle::market::reading {

namespace {

/// From this volume on, rounding to whole units changes a volume by less than 0.05 %.
constexpr double fewest_units_to_round = 1000;
constexpr double largest_volume = 0x1p62;

} // namespace

bool VolumeFields::parse(Fields fields, BarVolumes& volumes, Problem& problem) {
    if (!parse_one(fields, columns_.volume, "volume", volumes.total, problem))
        return false;
    std::int64_t more = 0;
    if (!parse_one(fields, columns_.more_volume, "volume", more, problem))
        return false;
    if (static_cast<double>(volumes.total) + static_cast<double>(more) > largest_volume) {
        problem = {static_cast<std::size_t>(columns_.volume), "the volume is too large", "at most 2^62"};
        return false;
    }
    volumes.total += more;
    if (!settings_.sides)
        return true;
    if (!parse_one(fields, columns_.bid_volume, "volume at the bid", volumes.bid, problem) ||
        !parse_one(fields, columns_.ask_volume, "volume at the ask", volumes.ask, problem))
        return false;
    if (columns_.bid_volume == no_column)
        volumes.bid = std::max<std::int64_t>(0, volumes.total - volumes.ask);
    if (columns_.ask_volume == no_column)
        volumes.ask = std::max<std::int64_t>(0, volumes.total - volumes.bid);
    return true;
}

bool VolumeFields::parse_one(Fields fields, int column, std::string_view name, std::int64_t& volume,
                             Problem& problem) {
    if (column == no_column)
        return true;
    const auto position = static_cast<std::size_t>(column);
    const auto value = settings_.layout.decimal_comma
                           ? reading::parse_volume(without_decimal_comma(fields[position]))
                           : reading::parse_volume(fields[position]);
    if (!value) {
        problem = missing_or_malformed(position, name, fields[position]);
        return false;
    }
    volume = value->mantissa;
    int scale = value->scale;
    for (; scale > 0 && volume % 10 == 0; --scale)
        volume /= 10;
    if (volume == -1 && scale == 0) { // Interactive Brokers: not available
        volume = 0;
        ++block_.unknown_volumes;
        return true;
    }
    if (value->mantissa < 0) {
        problem = {position, fmt::format("the {} {} is negative", name, shown(fields[position])),
                   "zero or more"};
        return false;
    }
    block_.volume_decimals = std::max(block_.volume_decimals, scale);
    return scale_volume({volume, scale, value->exact}, position, fields, volume, problem);
}

/// Converts a volume to the steps in which volumes are stored.
bool VolumeFields::scale_volume(const Decimal& value, std::size_t position, Fields fields,
                                std::int64_t& volume, Problem& problem) {
    const int decimals = settings_.volume_decimals;
    const double scaled = value.value() * std::pow(10.0, decimals);
    if (scaled > largest_volume) {
        problem = {position, fmt::format("the volume {} is too large", shown(fields[position])),
                   decimals > 0 ? fmt::format("at most 2^62 units of 10^-{}", decimals)
                                : std::string("at most 2^62")};
        return false;
    }
    if (value.scale <= decimals && value.exact) {
        for (int i = value.scale; i < decimals; ++i)
            volume *= 10;
        return true;
    }
    volume = std::llround(scaled);
    ++block_.volumes_rounded;
    block_.small_fractions += value.value() < fewest_units_to_round ? 1 : 0;
    return true;
}

} // namespace rekindle::market::reading
