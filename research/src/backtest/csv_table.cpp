#include "csv_table.h"

#include <rekindle/base/text.h>
#include <rekindle/market/clock.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace rekindle::research {

namespace {

std::string_view unquoted(std::string_view field) {
    field = trim(field);
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"')
        field = field.substr(1, field.size() - 2);
    return field;
}

std::optional<int> two_digits(std::string_view text, std::size_t at, int below) {
    const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
    if (at + 2 > text.size() || !digit(at) || !digit(at + 1))
        return std::nullopt;
    const int value = (text[at] - '0') * 10 + (text[at + 1] - '0');
    return value < below ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> parse_instant(std::string_view text) {
    for (const std::string_view zone : {"Z", "+00:00"})
        if (text.ends_with(zone)) {
            text.remove_suffix(zone.size());
            break;
        }
    std::int32_t date = 0;
    if (text.size() < 10 || !market::parse_date(text.substr(0, 10), date))
        return std::nullopt;
    const std::int64_t midnight = std::int64_t{date} * market::day_seconds;
    if (text.size() == 10)
        return midnight;
    if (text.size() != 19 || (text[10] != 'T' && text[10] != ' ') || text[13] != ':' || text[16] != ':')
        return std::nullopt;
    const auto hours = two_digits(text, 11, 24), minutes = two_digits(text, 14, 60),
               seconds = two_digits(text, 17, 60);
    if (!hours || !minutes || !seconds)
        return std::nullopt;
    return midnight + *hours * 3600 + *minutes * 60 + *seconds;
}

} // namespace

std::string_view CsvRow::text(std::string_view column) const {
    const auto found = std::ranges::find(header_, column);
    return found == header_.end() ? std::string_view()
                                  : fields[static_cast<std::size_t>(found - header_.begin())];
}

double CsvRow::number(std::string_view column) const {
    std::string field(text(column));
    if (decimal_comma_)
        std::ranges::replace(field, ',', '.');
    if (field.empty() || lower_case(field) == "nan")
        return std::numeric_limits<double>::quiet_NaN();
    double value = 0;
    const auto [end, problem] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (problem != std::errc() || end != field.data() + field.size() || !std::isfinite(value))
        throw error(fmt::format("{} \"{}\" is not a number", column, field));
    return value;
}

std::int64_t CsvRow::instant(std::string_view column) const {
    const std::string_view field = text(column);
    if (const auto instant = parse_instant(field))
        return *instant;
    throw error(fmt::format("{} \"{}\" is not an instant", column, field))
        .expected("such as 2025-02-27T21:00:00Z");
}

Error CsvRow::error(std::string what) const {
    return usage_error(std::move(what)).at(fmt::format("{}:{}", where_, line_));
}

void read_csv_rows(std::string_view csv, const std::string& where,
                   const std::vector<std::string_view>& required,
                   const std::function<void(const CsvRow&)>& row) {
    if (csv.starts_with("\xef\xbb\xbf"))
        csv.remove_prefix(3);
    std::vector<std::string> header;
    std::uint64_t line = 0;
    char separator = ',';
    while (!csv.empty()) {
        const std::size_t end = std::min(csv.find('\n'), csv.size());
        const std::string_view content = trim(csv.substr(0, end));
        csv.remove_prefix(std::min(end + 1, csv.size()));
        ++line;
        if (content.empty() || (header.empty() && content.starts_with('#')))
            continue;
        if (header.empty())
            for (const char candidate : {'\t', ';', ','})
                if (content.find(candidate) != std::string_view::npos)
                    separator = candidate;
        CsvRow current(header, where, line, separator);
        for (const std::string_view field : split(content, separator))
            current.fields.push_back(unquoted(field));
        if (header.empty()) {
            for (const std::string_view name : current.fields) {
                if (!name.empty() && std::ranges::count(header, name) > 0)
                    throw current.error(fmt::format("the column {} appears twice", name));
                header.emplace_back(lower_case(name));
            }
            for (const std::string_view name : required)
                if (std::ranges::count(header, name) == 0)
                    throw current.error(fmt::format("the column {} is missing", name))
                        .expected(fmt::format("a header with {}", fmt::join(required, ", ")));
            continue;
        }
        if (current.fields.size() != header.size())
            throw current.error(counted(current.fields.size(), "field"))
                .expected(fmt::format("{}, as in the header", header.size()));
        row(current);
    }
    if (header.empty())
        throw usage_error("the file is empty").at(where).expected("a header");
}

} // namespace rekindle::research
