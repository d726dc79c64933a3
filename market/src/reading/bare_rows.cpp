#include "reading/bare_rows.h"

#include "reading/number.h"

#include <rekindle/base/text.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace rekindle::market::reading {

namespace {

/// The number of fields at the beginning of a row that hold its time: 2, 1, or 0 if the row begins with
/// something else.
std::size_t fields_of_time(const std::vector<std::string>& fields) {
    if (fields.size() > 1 && fields[1].find(':') != std::string::npos &&
        recognize_stamp(fields[0], fields[1]))
        return 2;
    return !fields.empty() && recognize_stamp(fields[0]) ? 1 : 0;
}

/// Whether the four fields from `first` on can be open, high, low and close. Sets `moved` if the high is
/// above the low.
bool are_prices(const std::vector<std::string>& fields, std::size_t first, bool& moved) {
    std::array<double, 4> prices{};
    for (std::size_t i = 0; i < prices.size(); ++i) {
        const auto price = parse_price(fields[first + i]);
        if (!price)
            return false;
        prices[i] = price->value();
    }
    const auto [open, high, low, close] = prices;
    moved |= high > low;
    return high >= std::max(open, close) && low <= std::min(open, close);
}

} // namespace

std::optional<ColumnMap> find_bare_columns(const FileHead& head, char delimiter) {
    std::size_t count = 0, times = 0;
    bool moved = false;
    for (const HeadLine& line : head.lines) {
        const auto fields = split_fields(line.text, delimiter);
        if (!fields)
            return std::nullopt;
        if (count == 0) {
            count = fields->size();
            times = fields_of_time(*fields);
        }
        if (times == 0 || fields->size() != count || count < times + 5 || fields_of_time(*fields) != times ||
            !are_prices(*fields, times, moved) ||
            !std::all_of(fields->begin() + static_cast<std::ptrdiff_t>(times) + 4, fields->end(),
                         [](const std::string& text) { return parse_volume(text).has_value(); }))
            return std::nullopt;
    }
    if (!moved)
        return std::nullopt;
    const auto first = static_cast<int>(times);
    ColumnMap columns{
        .open = first, .high = first + 1, .low = first + 2, .close = first + 3, .volume = first + 4};
    (times == 2 ? columns.date : columns.time) = 0;
    if (times == 2)
        columns.clock = 1;
    return columns;
}

} // namespace rekindle::market::reading
