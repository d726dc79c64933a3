#include "reading/vix.h"

#include "reading/format.h"
#include "reading/number.h"
#include "reading/open_text_source.h"
#include "reading/row_parser.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>

namespace rekindle::market::reading {

namespace {

/// Cboe publishes the closing value at 16:15 New York time. On half days it is published earlier, so this
/// time is late but safe.
constexpr std::int64_t publication_second = std::int64_t{16 * 60 + 15} * 60;

struct VixLayout {
    char delimiter = ',';
    std::size_t fields = 0;
    std::size_t date = 0;
    std::size_t value = 0;
    StampFormat stamp;
};

VixLayout recognize_vix(const FileHead& head) {
    VixLayout layout;
    layout.delimiter = head.first().text.find(';') != std::string::npos ? ';' : ',';
    const auto names = split_fields(head.first().text, layout.delimiter).value_or(std::vector<std::string>{});
    const auto find = [&](std::initializer_list<std::string_view> candidates) -> std::optional<std::size_t> {
        for (const std::string_view name : candidates)
            for (std::size_t i = 0; i < names.size(); ++i)
                if (lower_case(trim(names[i])) == name)
                    return i;
        return std::nullopt;
    };
    const auto date = find({"date", "observation_date"});
    const auto value = find({"vix", "close", "vix close", "vix_close", "vixcls"});
    if (!date || !value)
        throw usage_error(
            fmt::format("not a VIX file; its columns are: {}", head.first().text.substr(0, 200)))
            .at(fmt::format("{}:{}", head.path.string(), head.first().number))
            .expected("DATE,OPEN,HIGH,LOW,CLOSE (Cboe) or Date,vix");
    layout.fields = names.size();
    layout.date = *date;
    layout.value = *value;
    const auto first = split_fields(head.second(), layout.delimiter).value_or(std::vector<std::string>{});
    auto stamp = layout.date < first.size() ? recognize_stamp(first[layout.date]) : std::nullopt;
    if (stamp)
        stamp->midnight = stamp->time != TimeFormat::none; // a date with the time 00:00:00 counts, too
    if (!stamp || !parse_stamp(*stamp, first[layout.date]))
        throw usage_error("the first row has no recognized date")
            .at(fmt::format("{}:{}", head.path.string(), head.first().number + 1))
            .expected("month/day/year or year-month-day");
    layout.stamp = *stamp;
    return layout;
}

/// FRED and files derived from it write a period on holidays.
bool is_holiday(const VixLayout& layout, const std::vector<std::string>& fields) {
    return fields.size() == layout.fields &&
           (trim(fields[layout.value]) == "." || is_missing_value(fields[layout.value]));
}

/// The reason why a row cannot be used, or empty.
std::optional<std::string> parse_vix_row(const VixLayout& layout, const std::vector<std::string>& fields,
                                         std::int32_t& date, float& value) {
    if (fields.size() != layout.fields)
        return fmt::format("{}, but the header has {}", counted(fields.size(), "field"), layout.fields);
    const auto stamp = parse_stamp(layout.stamp, fields[layout.date]);
    if (!stamp)
        return fmt::format("\"{}\" is not a date in the format of the first row, {}",
                           fields[layout.date].substr(0, 40), layout.stamp.example());
    const auto number = parse_decimal(fields[layout.value]);
    if (!number || number->mantissa <= 0)
        return fmt::format("the VIX \"{}\" is not a positive number", fields[layout.value].substr(0, 40));
    date = date_of(stamp->label);
    value = static_cast<float>(number->value());
    return std::nullopt;
}

struct VixRow {
    std::int32_t date = 0;
    float value = 0;
    std::uint64_t line = 0;
    std::string text;
};

/// The values of rows with ascending dates, or descending ones in a file that starts with the newest date.
DailyValues in_order_of_dates(std::vector<VixRow> rows, const std::filesystem::path& path,
                              RejectLog& rejects) {
    std::size_t backwards = 0;
    for (std::size_t i = 1; i < rows.size(); ++i)
        backwards += rows[i].date < rows[i - 1].date;
    const bool newest_first = backwards > 0 && backwards * 2 >= rows.size();
    if (newest_first)
        std::reverse(rows.begin(), rows.end());
    DailyValues values;
    std::int32_t previous = std::numeric_limits<std::int32_t>::min();
    for (const VixRow& row : rows) {
        if (row.date <= previous) {
            rejects.add({path, row.line, 1,
                         fmt::format("{} follows {}: dates must be {}", format_date(row.date),
                                     format_date(previous), newest_first ? "descending" : "ascending"),
                         "", row.text});
            continue;
        }
        values.add(row.date, row.value);
        previous = row.date;
    }
    return values;
}

} // namespace

DailyValues read_vix_file(const std::filesystem::path& path, RejectLog& rejects) {
    Hasher unused;
    const auto source = open_text_source(path, unused);
    constexpr std::size_t piece = 1 << 20;
    std::string_view text = source->next(piece);
    const FileHead head = read_head(path, text);
    const VixLayout layout = recognize_vix(head);
    text.remove_prefix(head.first().end);
    std::vector<VixRow> rows;
    std::uint64_t line_number = head.first().number;
    for (; !text.empty(); text = source->next(piece))
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            const std::string_view line = trim(text.substr(0, end));
            text.remove_prefix(std::min(end + 1, text.size()));
            ++line_number;
            const auto fields = split_fields(line, layout.delimiter);
            if (line.empty() || (fields && is_holiday(layout, *fields)))
                continue;
            VixRow row{.line = line_number, .text = row_excerpt(line)};
            const auto problem =
                fields ? parse_vix_row(layout, *fields, row.date, row.value) : "a quote is not closed";
            if (problem)
                rejects.add({path, line_number, 1, *problem, "", row.text});
            else
                rows.push_back(std::move(row));
        }
    DailyValues values = in_order_of_dates(std::move(rows), path, rejects);
    if (values.empty() && rejects.count() == 0)
        throw usage_error("no values follow the header").at(path.string()).expected("one value per day");
    return values;
}

PublishedSeries PublishedSeries::of_daily_closes(const DailyValues& closes, bool dates_only) {
    PublishedSeries series;
    if (closes.empty())
        return series;
    const ZoneClock new_york = ZoneClock::load("America/New_York");
    for (const auto& [date, value] : closes.values()) {
        const std::int64_t midnight = std::int64_t{date} * day_seconds;
        series.values_.push_back(
            {dates_only ? midnight + day_seconds : new_york.to_utc(midnight + publication_second), value});
    }
    return series;
}

float PublishedSeries::known_at(std::int64_t instant) noexcept {
    while (next_ < values_.size() && values_[next_].published <= instant)
        ++next_;
    return next_ == 0 ? std::numeric_limits<float>::quiet_NaN() : values_[next_ - 1].value;
}

} // namespace rekindle::market::reading
