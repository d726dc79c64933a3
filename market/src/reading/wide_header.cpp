#include "reading/wide_header.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace rekindle::market::reading {

namespace {

using Row = std::vector<std::string>;

constexpr std::size_t most_lines = 3;

std::vector<Row> header_rows(const FileHead& head, char delimiter) {
    std::vector<Row> rows;
    for (const HeadLine& line : head.lines) {
        auto fields = split_fields(line.text, delimiter);
        if (rows.size() == most_lines || !fields || !is_header(*fields) ||
            (!rows.empty() && fields->size() != rows.front().size()))
            break;
        rows.push_back(std::move(*fields));
    }
    return rows;
}

bool names_prices(const Row& row) {
    return std::ranges::all_of(std::array{"open", "high", "low", "close"}, [&](const char* name) {
        return std::ranges::any_of(row,
                                   [&](const std::string& field) { return lower_case(trim(field)) == name; });
    });
}

/// A last line such as "Date,,,,,".
bool names_only_the_time(const Row& row) {
    return !trim(row.front()).empty() &&
           std::all_of(row.begin() + 1, row.end(),
                       [](const std::string& field) { return trim(field).empty(); });
}

std::vector<std::string> tickers_of(const Row& row) {
    std::vector<std::string> tickers;
    for (auto field = row.begin() + 1; field != row.end(); ++field)
        if (const std::string name(trim(*field));
            !name.empty() && std::find(tickers.begin(), tickers.end(), name) == tickers.end())
            tickers.push_back(name);
    return tickers;
}

std::string chosen_ticker(const FileHead& head, const std::vector<std::string>& tickers,
                          std::string_view contract) {
    const auto chosen = std::ranges::find_if(
        tickers, [&](const std::string& ticker) { return lower_case(ticker) == lower_case(contract); });
    if (chosen != tickers.end())
        return *chosen;
    if (tickers.size() == 1)
        return tickers.front();
    throw usage_error(
        fmt::format("the columns belong to {} tickers: {}", tickers.size(), fmt::join(tickers, ", ")))
        .at(fmt::format("{}:{}", head.path.string(), head.first().number))
        .expected("the columns of one instrument")
        .hint(fmt::format("Choose one with --contract, for example --contract {}.", tickers.front()));
}

} // namespace

std::optional<WideHeader> read_wide_header(const FileHead& head, char delimiter, std::string_view contract) {
    const std::vector<Row> rows = header_rows(head, delimiter);
    if (rows.size() < 2)
        return std::nullopt;
    const std::size_t names = names_prices(rows[0]) ? 0 : 1;
    const Row& ticker_row = rows[1 - names];
    if (!names_prices(rows[names]))
        return std::nullopt;
    WideHeader header{rows[names], "", 2};
    const std::string& time_name = header.names.front();
    if (names_only_the_time(ticker_row)) { // no tickers
        header.names.front() = ticker_row.front();
        return header;
    }
    const std::vector<std::string> tickers = tickers_of(ticker_row);
    if (tickers.empty())
        return std::nullopt;
    header.ticker = chosen_ticker(head, tickers, contract);
    for (std::size_t i = 1; i < header.names.size(); ++i)
        if (const std::string_view ticker = trim(ticker_row[i]); !ticker.empty() && ticker != header.ticker)
            header.names[i] += fmt::format(" {}", ticker);
    if (rows.size() > 2 && names_only_the_time(rows[2])) {
        header.names.front() = rows[2].front();
        header.lines = 3;
    } else if (lower_case(trim(time_name)) == "price" || lower_case(trim(time_name)) == "ticker") {
        header.names.front().clear(); // pandas' name for the columns, above a time column without a name
    }
    return header;
}

} // namespace rekindle::market::reading
