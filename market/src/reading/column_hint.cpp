#include "reading/column_hint.h"

#include "reading/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace rekindle::market::reading {

namespace {

using Row = std::vector<std::string>;

std::vector<Row> data_rows(const FileHead& head, char delimiter) {
    std::vector<Row> rows;
    for (const HeadLine& line : head.lines) {
        auto fields = split_fields(line.text, delimiter);
        if (!fields || is_header(*fields) || (!rows.empty() && fields->size() != rows.front().size()))
            continue;
        rows.push_back(std::move(*fields));
    }
    return rows;
}

void guess_time(const Row& row, ColumnMap& columns) {
    for (std::size_t i = 0; i < row.size(); ++i) {
        const auto stamp = recognize_stamp(row[i]);
        if (!stamp)
            continue;
        const bool separate =
            stamp->dates_only() && i + 1 < row.size() && recognize_stamp(row[i], row[i + 1]);
        columns.time = separate ? no_column : static_cast<int>(i);
        columns.date = separate ? static_cast<int>(i) : no_column;
        columns.clock = separate ? static_cast<int>(i) + 1 : no_column;
        return;
    }
}

/// Whether the four columns from `first` on could be open, high, low, and close in every row.
bool are_prices(const std::vector<Row>& rows, std::size_t first) {
    return std::ranges::all_of(rows, [&](const Row& row) {
        std::array<double, 4> price{};
        for (std::size_t i = 0; i < price.size(); ++i) {
            const auto value = parse_price(row[first + i]);
            if (!value)
                return false;
            price[i] = value->value();
        }
        return price[1] == std::ranges::max(price) && price[2] == std::ranges::min(price);
    });
}

void guess_numbers(const std::vector<Row>& rows, ColumnMap& columns) {
    const int after_time = std::max(columns.time, columns.clock) + 1;
    const std::size_t width = rows.front().size();
    for (auto first = static_cast<std::size_t>(after_time); first + 4 <= width; ++first) {
        if (!are_prices(rows, first))
            continue;
        const int open = static_cast<int>(first);
        columns.open = open;
        columns.high = open + 1;
        columns.low = open + 2;
        columns.close = open + 3;
        if (first + 4 < width && parse_volume(rows.front()[first + 4]))
            columns.volume = open + 4;
        else
            columns.without_volume = true;
        return;
    }
}

} // namespace

std::string suggest_columns(const FileHead& head, char delimiter, const ColumnMap& found) {
    ColumnMap guess;
    if (const std::vector<Row> rows = data_rows(head, delimiter); !rows.empty()) {
        guess_time(rows.front(), guess);
        guess_numbers(rows, guess);
    }
    std::string text = "--columns ";
    const auto add = [&](const char* key, int named, int guessed) {
        const int column = named != no_column ? named : guessed;
        text += fmt::format("{}{}={}", text.ends_with(' ') ? "" : ",", key,
                            column == no_column ? "POSITION" : std::to_string(column + 1));
    };
    const bool named_time = found.time != no_column;
    if (!named_time && (found.date != no_column || guess.date != no_column)) {
        add("date", found.date, guess.date);
        add("clock", found.clock, guess.clock);
    } else {
        add("time", found.time, guess.time);
    }
    const bool named = found.open != no_column || found.high != no_column || found.low != no_column ||
                       found.close != no_column; // then the others are not where the numbers suggest
    add("open", found.open, named ? no_column : guess.open);
    add("high", found.high, named ? no_column : guess.high);
    add("low", found.low, named ? no_column : guess.low);
    add("close", found.close, named ? no_column : guess.close);
    if (found.volume == no_column && (named || guess.without_volume || guess.volume == no_column))
        return text + ",volume=none";
    add("volume", found.volume, guess.volume);
    return text;
}

} // namespace rekindle::market::reading
