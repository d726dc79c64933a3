#include "reading/format.h"

#include "reading/bare_rows.h"
#include "reading/column_hint.h"
#include "reading/number.h"
#include "reading/wide_header.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace rekindle::market::reading {

namespace {

/// A kind of column, and the names for it in headers, as plain_name() returns them.
struct Role {
    std::string_view name;
    int ColumnMap::*column;
    std::vector<std::string_view> aliases;
};

const std::vector<Role>& roles() {
    static const std::vector<Role> table{
        {"time",
         &ColumnMap::time,
         {"timestamp", "datetime", "date/time", "gmttime", "localtime", "time(utc)", "timestamputc",
          "datetimeutc", "timeutc", "tsevent", "windowstart", "opentime", "timeleft", "unix", "time", "date",
          "tradedate", "t", "indexlevel0"}},
        {"date", &ColumnMap::date, {"date"}},
        {"clock", &ColumnMap::clock, {"time"}},
        {"open", &ColumnMap::open, {"open", "o"}},
        {"high", &ColumnMap::high, {"high", "h"}},
        {"low", &ColumnMap::low, {"low", "l"}},
        {"close", &ColumnMap::close, {"close", "last", "close/last", "price", "c"}},
        {"volume", &ColumnMap::volume, {"volume", "realvolume", "totalvolume", "vol", "vol.", "v"}},
        {"bid_volume", &ColumnMap::bid_volume, {"bidvolume", "bidvol", "sellvolume", "takersellvolume"}},
        {"ask_volume",
         &ColumnMap::ask_volume,
         {"askvolume", "askvol", "buyvolume", "takerbuyvolume", "takerbuybaseassetvolume",
          "takerbuybasevolume", "takerbuybase"}},
        {"contract", &ColumnMap::contract, {"contract", "symbol", "ticker", "instrument", "name"}},
        {"vix", &ColumnMap::vix, {"vix", "volatility", "vixclose"}},
    };
    return table;
}

const Role& tick_volume_role() {
    static const Role role{"volume", &ColumnMap::tick_volume, {"tickvolume", "tickvol"}};
    return role;
}

/// Vendor names for time columns that hold the start of the bar.
constexpr std::array names_of_beginnings{"tsevent", "windowstart", "opentime", "timeleft"};

/// "Bar_Range", "bar range", "<BARRANGE>" and "5. bar range" are one name.
std::string plain_name(std::string_view header) {
    std::string name = lower_case(trim(header));
    std::erase_if(name, [](char c) { return c == ' ' || c == '_' || c == '-' || c == '<' || c == '>'; });
    const std::size_t number = name.find_first_not_of("0123456789");
    if (number != 0 && number != std::string::npos && name[number] == '.')
        name.erase(0, number + 1);
    return name;
}

std::string where(const FileHead& head) {
    return fmt::format("{}:{}", head.path.string(), head.first().number);
}

/// The separator that splits the line into the most fields; empty if none splits it.
std::optional<char> find_delimiter(std::string_view line) {
    constexpr std::array candidates{',', ';', '\t'};
    const auto count = [&](char c) { return std::count(line.begin(), line.end(), c); };
    const char best = *std::max_element(candidates.begin(), candidates.end(),
                                        [&](char a, char b) { return count(a) < count(b); });
    return count(best) > 0 ? std::optional(best) : std::nullopt;
}

std::vector<std::string> required_fields(const FileHead& head, std::string_view line, char delimiter) {
    auto fields = split_fields(line, delimiter);
    if (!fields)
        throw usage_error("a quote is not closed").at(where(head)).expected("quotes in pairs");
    return std::move(*fields);
}

FileLayout layout_with_header(const FileHead& head, std::string format, char delimiter) {
    FileLayout layout;
    layout.format = std::move(format);
    layout.delimiter = delimiter;
    layout.header = required_fields(head, head.first().text, delimiter);
    layout.column_count = layout.header.size();
    layout.data_offset = head.first().end;
    layout.data_line = head.first().number + 1;
    return layout;
}

FileLayout layout_without_header(const FileHead& head, std::string format, char delimiter) {
    FileLayout layout;
    layout.format = std::move(format);
    layout.delimiter = delimiter;
    layout.column_count = required_fields(head, head.first().text, delimiter).size();
    layout.header.resize(layout.column_count);
    layout.data_offset = head.first().begin;
    layout.data_line = head.first().number;
    return layout;
}

// ---- The formats
// ---------------------------------------------------------------------------------------------

/// `yyyyMMdd HHmmss;open;high;low;close;volume` without a header; daily bars have only the date.
std::optional<FileLayout> recognize_ninjatrader(const FileHead& head, std::string_view) {
    const auto fields = split(head.first().text, ';');
    if (fields.size() != 6 || (!parse_stamp({DateFormat::compact, TimeFormat::compact, false}, fields[0]) &&
                               !parse_stamp({DateFormat::compact, TimeFormat::none, false}, fields[0])))
        return std::nullopt;
    FileLayout layout = layout_without_header(head, "NinjaTrader export", ';');
    layout.columns = {.time = 0, .open = 1, .high = 2, .low = 3, .close = 4, .volume = 5};
    return layout;
}

/// Binance's klines without a header: open time, prices, volume, close time and six other numbers.
std::optional<FileLayout> recognize_binance(const FileHead& head, std::string_view) {
    constexpr std::size_t field_count = 12;
    const auto fields = split(head.first().text, ',');
    if (fields.size() != field_count)
        return std::nullopt;
    const auto is_unix = [](std::string_view text) {
        const auto stamp = recognize_stamp(text);
        return stamp && stamp->date >= DateFormat::unix_milliseconds;
    };
    const std::string_view end = fields[6]; // the last millisecond or microsecond of the bar
    if (!is_unix(fields[0]) || end.size() != fields[0].size() || !end.ends_with("999") ||
        !std::all_of(fields.begin() + 1, fields.end(),
                     [](std::string_view text) { return parse_decimal(text); }))
        return std::nullopt;
    FileLayout layout = layout_without_header(head, "Binance klines", ',');
    layout.columns = {.time = 0, .open = 1, .high = 2, .low = 3, .close = 4, .volume = 5, .ask_volume = 9};
    layout.header[0] = "open_time";
    layout.stamps_begin_bars = true;
    return layout;
}

/// Rows without a header, as MetaTrader 4, Kibot, FirstRate and Kraken write them.
std::optional<FileLayout> recognize_bare_rows(const FileHead& head, std::string_view) {
    const auto delimiter = find_delimiter(head.first().text);
    const auto columns = delimiter ? find_bare_columns(head, *delimiter) : std::nullopt;
    if (!columns)
        return std::nullopt;
    FileLayout layout = layout_without_header(head, "CSV without a header", *delimiter);
    layout.columns = *columns;
    layout.notes.push_back(
        fmt::format("{} has no header. Its columns are taken to be time, open, high, low, close "
                    "and volume, in this order; its first rows are consistent with that.",
                    head.path.string()));
    return layout;
}

/// Position of the only column with one of the names, in order of preference.
int find_column(const FileHead& head, const std::vector<std::string>& names, const Role& role) {
    for (const std::string_view alias : role.aliases) {
        const auto first = std::find(names.begin(), names.end(), alias);
        if (first == names.end())
            continue;
        if (std::find(first + 1, names.end(), alias) != names.end())
            throw usage_error(fmt::format("two columns are named {}", alias))
                .at(where(head))
                .expected("one such column")
                .hint(fmt::format("Choose one of them: --columns {}=POSITION", role.name));
        return static_cast<int>(first - names.begin());
    }
    return no_column;
}

/// Single letters count as names only if all four prices have a single-letter name.
void forget_lone_letters(const std::vector<std::string>& names, ColumnMap& columns) {
    const auto is_letter = [&](int column) {
        return column != no_column && names[static_cast<std::size_t>(column)].size() == 1;
    };
    if (is_letter(columns.open) && is_letter(columns.high) && is_letter(columns.low) &&
        is_letter(columns.close))
        return;
    for (const Role& role : roles())
        if (is_letter(columns.*role.column))
            columns.*role.column = no_column;
}

/// Finds volumes under other names. CryptoDataDownload has "Volume BTC" and "Volume USD"; the first is in
/// coins. TradeStation has Up and Down, which add up to the volume.
void find_volume_parts(const std::vector<std::string>& names, FileLayout& layout) {
    ColumnMap& columns = layout.columns;
    const auto find = [&](std::string_view name) {
        const auto found = std::ranges::find(names, name);
        return found == names.end() ? no_column : static_cast<int>(found - names.begin());
    };
    if (columns.volume != no_column)
        return;
    const auto of_coin = std::ranges::find_if(names, [](const std::string& name) {
        return name.starts_with("volume") && name.size() >= 9 && name.size() <= 11;
    });
    if (of_coin != names.end()) {
        columns.volume = static_cast<int>(of_coin - names.begin());
        layout.notes.push_back(
            fmt::format("Volume is taken from the column {}.", header_of(layout, columns.volume)));
    } else if (const int up = find("up"), down = find("down"); up != no_column && down != no_column) {
        columns.volume = up;
        columns.more_volume = down;
        layout.notes.emplace_back("The volume is the sum of the columns Up and Down.");
    }
}

/// A header that names the columns, in any order.
std::optional<FileLayout> recognize_header(const FileHead& head, std::string_view contract) {
    const auto delimiter = find_delimiter(head.first().text);
    if (!delimiter)
        return std::nullopt;
    FileLayout layout = layout_with_header(head, "OHLCV CSV", *delimiter);
    if (!is_header(layout.header))
        return std::nullopt;
    if (auto wide = read_wide_header(head, *delimiter, contract)) {
        const HeadLine& last = head.lines[wide->lines - 1];
        layout.format = fmt::format("CSV with {} header lines", wide->lines);
        layout.header = std::move(wide->names);
        layout.contract = wide->ticker;
        layout.data_offset = last.end;
        layout.data_line = last.number + 1;
    }
    std::vector<std::string> names;
    names.reserve(layout.header.size());
    for (const std::string& header : layout.header)
        names.push_back(plain_name(header));
    ColumnMap& columns = layout.columns;
    for (const Role& role : roles())
        columns.*role.column = find_column(head, names, role);
    forget_lone_letters(names, columns);
    // `date` and `time` are one timestamp in two fields only if no column holds both.
    const bool has_stamp = columns.time != columns.clock && columns.time != columns.date;
    if (has_stamp || columns.date == no_column || columns.clock == no_column)
        columns.date = columns.clock = no_column;
    else
        columns.time = no_column;
    if (columns.time == no_column && columns.date == no_column && names.front().empty())
        columns.time = 0;
    find_volume_parts(names, layout);
    columns.tick_volume = find_column(head, names, tick_volume_role());
    if (columns.volume == no_column && columns.tick_volume != no_column) {
        columns.volume = std::exchange(columns.tick_volume, no_column);
        layout.notes.push_back(fmt::format("Volume is taken from the column {}, which counts price changes.",
                                           header_of(layout, columns.volume)));
    }
    layout.stamps_begin_bars =
        columns.time != no_column &&
        std::ranges::count(names_of_beginnings, names[static_cast<std::size_t>(columns.time)]) > 0;
    const auto has = [&](std::string_view name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (columns.contract != no_column && has("session") && has("barrange"))
        layout.format = "merged CSV";
    return layout;
}

// ---- --columns
// -----------------------------------------------------------------------------------------------

Error column_error(std::string what) {
    return usage_error(std::move(what))
        .at("--columns")
        .expected("KEY=POSITION or KEY=HEADER separated by commas, as in "
                  "time=1,open=2,high=3,low=4,close=5,volume=6")
        .hint("The keys are time, date, clock, open, high, low, close, volume, bid_volume, ask_volume, "
              "contract and vix; "
              "volume=none is allowed.");
}

int resolve_column(const FileHead& head, const FileLayout& layout, std::string_view key,
                   std::string_view value) {
    std::size_t position = 0;
    const auto result = std::from_chars(value.data(), value.data() + value.size(), position);
    if (result.ec == std::errc() && result.ptr == value.data() + value.size()) {
        if (position < 1 || position > layout.column_count)
            throw column_error(fmt::format("{}={}: {} has {}", key, value, head.path.string(),
                                           counted(layout.column_count, "column")));
        return static_cast<int>(position - 1);
    }
    for (const bool exact : {true, false})
        for (std::size_t i = 0; i < layout.header.size(); ++i)
            if (exact ? trim(layout.header[i]) == value
                      : lower_case(trim(layout.header[i])) == lower_case(value))
                return static_cast<int>(i);
    throw column_error(fmt::format("{}={}: no such column; {} has: {}", key, value, head.path.string(),
                                   fmt::join(layout.header, ", ")));
}

FileLayout requested_layout(const FileHead& head, std::string_view request) {
    const char delimiter = find_delimiter(head.first().text).value_or(',');
    const bool header = is_header(required_fields(head, head.first().text, delimiter));
    FileLayout layout = header ? layout_with_header(head, "columns as given", delimiter)
                               : layout_without_header(head, "columns as given", delimiter);
    for (const std::string_view part : split(request, ',')) {
        const std::size_t equals = part.find('=');
        const std::string key = lower_case(trim(part.substr(0, equals)));
        const auto role =
            std::find_if(roles().begin(), roles().end(), [&](const Role& r) { return r.name == key; });
        if (equals == std::string_view::npos || role == roles().end())
            throw column_error(fmt::format("{} is not a known setting", part));
        const std::string_view value = trim(part.substr(equals + 1));
        int& column = layout.columns.*role->column;
        if (column != no_column || (role->column == &ColumnMap::volume && layout.columns.without_volume))
            throw column_error(fmt::format("{} is given twice", key));
        if (role->column == &ColumnMap::volume && lower_case(value) == "none")
            layout.columns.without_volume = true,
            layout.notes.emplace_back("Every volume is 0 because there is no volume column (volume=none).");
        else
            column = resolve_column(head, layout, key, value);
    }
    return layout;
}

/// A format of bar files. To add one, write its recognizer and add a line to `formats`.
struct Format {
    std::string_view name;
    std::optional<FileLayout> (*recognize)(
        const FileHead&,
        std::string_view contract); ///< empty if the file has another format
};

constexpr std::array formats{
    Format{"NinjaTrader export", &recognize_ninjatrader},
    Format{"Binance klines", &recognize_binance},
    Format{"CSV without a header", &recognize_bare_rows},
    Format{"CSV with a header", &recognize_header},
};

// ---- What every layout needs
// ---------------------------------------------------------------------------------

void require_columns(const FileHead& head, const FileLayout& layout) {
    std::vector<std::string_view> missing;
    const ColumnMap& columns = layout.columns;
    if (columns.time == no_column && (columns.date == no_column || columns.clock == no_column))
        missing.emplace_back(columns.date != no_column ? "clock" : "time");
    for (const Role& role : roles())
        if (role.column == &ColumnMap::open || role.column == &ColumnMap::high ||
            role.column == &ColumnMap::low || role.column == &ColumnMap::close ||
            (role.column == &ColumnMap::volume && !columns.without_volume))
            if (columns.*role.column == no_column)
                missing.push_back(role.name);
    if (missing.empty())
        return;
    throw usage_error(
        fmt::format("no column for {}; the columns are: {}", fmt::join(missing, ", "), head.first().text))
        .at(where(head))
        .expected("time, open, high, low, close and volume")
        .hint(fmt::format("Name the columns with --columns{}. For this file probably: {}",
                          columns.volume == no_column ? " (volume=none for a series without volume)" : "",
                          suggest_columns(head, layout.delimiter, columns)));
}

std::string hint_without_header(const FileHead& head) {
    const auto delimiter = find_delimiter(head.first().text);
    if (!delimiter)
        return "Separate the fields with commas, semicolons or tabs.";
    return "Without a header: " + suggest_columns(head, *delimiter, {});
}

/// A comma before any number of digits but three cannot stand between thousands.
bool has_decimal_comma(std::string_view price) {
    const std::size_t comma = price.find(',');
    const std::string_view decimals =
        price.substr(std::min(price.size(), comma) + (comma < price.size() ? 1 : 0));
    return comma != std::string_view::npos && decimals.size() != 3 &&
           decimals.find_first_of(".,") == std::string_view::npos &&
           parse_price(without_decimal_comma(price)).has_value();
}

void recognize_decimal_comma(const FileHead& head, FileLayout& layout) {
    if (layout.delimiter == ',')
        return;
    for (const HeadLine& line : head.lines) {
        const auto fields = split_fields(line.text, layout.delimiter);
        if (line.begin < layout.data_offset || !fields)
            continue;
        for (const int column :
             {layout.columns.open, layout.columns.high, layout.columns.low, layout.columns.close})
            if (static_cast<std::size_t>(column) < fields->size())
                layout.decimal_comma |= has_decimal_comma(trim((*fields)[static_cast<std::size_t>(column)]));
    }
    if (layout.decimal_comma)
        layout.notes.push_back(fmt::format("{} has decimal commas.", head.path.string()));
}

void recognize_stamps(const FileHead& head, FileLayout& layout) {
    const auto first = std::ranges::find_if(
        head.lines, [&](const HeadLine& line) { return line.begin >= layout.data_offset; });
    const std::string place = fmt::format("{}:{}", head.path.string(), layout.data_line);
    if (first == head.lines.end())
        throw usage_error("no rows follow the header").at(head.path.string()).expected("at least one bar");
    const std::string& line = first->text;
    const auto fields = split_fields(line, layout.delimiter).value_or(std::vector<std::string>{});
    const auto text = [&](int column) {
        const auto index = static_cast<std::size_t>(column);
        return index < fields.size() ? std::string_view(fields[index]) : std::string_view();
    };
    const ColumnMap& columns = layout.columns;
    const bool one_field = columns.time != no_column;
    const auto stamp = one_field ? recognize_stamp(text(columns.time))
                                 : recognize_stamp(text(columns.date), text(columns.clock));
    const std::string_view date = text(one_field ? columns.time : columns.date);
    if (stamp) {
        layout.stamp = *stamp;
        return;
    }
    const std::string seen = one_field ? std::string(date) : fmt::format("{} {}", date, text(columns.clock));
    if (looks_like_day_first(date))
        throw usage_error(fmt::format("\"{}\" has the day before the month", seen))
            .at(place)
            .expected("month/day/year or year-month-day")
            .hint("Day/month/year is not accepted because 3/4/2024 would be read as March 4. Convert the "
                  "dates first.");
    throw usage_error(fmt::format("\"{}\" is not a recognized time", seen))
        .at(place)
        .expected(
            "2024-03-15 09:31:00, 2024-03-15T09:31:00Z, 20240315 093100, 3/15/2024 9:31, 1710495060 (whole "
            "seconds since 1970, also in milliseconds, microseconds or nanoseconds), or a date without a "
            "time");
}

} // namespace

std::vector<int> ColumnMap::used() const {
    std::vector<int> positions;
    for (const int position : {time, date, clock, open, high, low, close, volume, more_volume, tick_volume,
                               bid_volume, ask_volume, contract, vix})
        if (position != no_column)
            positions.push_back(position);
    return positions;
}

bool is_header(const std::vector<std::string>& fields) {
    return std::none_of(fields.begin(), fields.end(), [](const std::string& field) {
        return parse_price(field) || parse_price(without_decimal_comma(field)) || recognize_stamp(field);
    });
}

std::string header_of(const FileLayout& layout, int column) {
    return std::string(trim(layout.header[static_cast<std::size_t>(column)]));
}

std::optional<std::vector<std::string>> split_fields(std::string_view line, char delimiter) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    bool at_start = true;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"')
            fields.back() += line[i++];
        else if (c == '"' && (quoted || at_start))
            quoted = !quoted;
        else if (c == delimiter && !quoted)
            fields.emplace_back();
        else
            fields.back() += c;
        at_start = c == delimiter && !quoted;
    }
    if (quoted)
        return std::nullopt;
    return fields;
}

FileHead read_head(const std::filesystem::path& path, std::string_view beginning) {
    FileHead head;
    head.path = path;
    std::size_t offset = beginning.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    std::uint64_t number = 0;
    while (offset < beginning.size() && head.lines.size() < head_lines) {
        const std::size_t newline = std::min(beginning.find('\n', offset), beginning.size());
        const std::string_view line = beginning.substr(offset, newline - offset);
        const std::string_view content = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
        const std::size_t end = std::min(newline + 1, beginning.size());
        ++number;
        const bool address = content.starts_with("https://") || content.starts_with("http://");
        if (head.lines.empty() && content.starts_with('#'))
            head.comments.emplace_back(trim(content.substr(1)));
        else if (head.lines.empty() && address && content.find(',') == std::string_view::npos)
            head.comments.emplace_back(content); // CryptoDataDownload
        else if (!trim(content).empty())
            head.lines.push_back({std::string(content), number, offset, end});
        offset = newline + 1;
    }
    if (head.lines.empty())
        throw usage_error("no rows: the file contains only blank lines and comments")
            .at(path.string())
            .expected("at least one bar");
    return head;
}

FileLayout recognize_layout(const FileHead& head, std::string_view columns, std::string_view contract) {
    std::optional<FileLayout> layout;
    if (!columns.empty())
        layout = requested_layout(head, columns);
    for (auto format = formats.begin(); !layout && format != formats.end(); ++format)
        layout = format->recognize(head, contract);
    if (!layout)
        throw usage_error(fmt::format("the first line is neither a header nor a row in a known format: {}",
                                      head.first().text.substr(0, 100)))
            .at(where(head))
            .expected("a header such as timestamp,open,high,low,close,volume, or yyyyMMdd "
                      "HHmmss;open;high;low;close;volume")
            .hint(hint_without_header(head));
    require_columns(head, *layout);
    recognize_decimal_comma(head, *layout);
    recognize_stamps(head, *layout);
    if (layout->columns.contract == no_column && layout->contract.empty())
        layout->contract = contract_of_file(head.path);
    if (!head.comments.empty())
        layout->synthetic = head.comments.front().starts_with("synthetic");
    if (!head.comments.empty())
        layout->notes.push_back(
            fmt::format("{} says: {}", head.path.string(), head.comments.front().substr(0, 200)));
    return std::move(*layout);
}

std::string contract_of_file(const std::filesystem::path& path) {
    std::string name = path.filename().string();
    for (const std::string_view ending : {".gz", ".zst", ".zip"})
        if (name.ends_with(ending))
            name.resize(name.size() - ending.size());
    if (name.ends_with(".scid")) // ESH25_FUT_CME.scid, ESH5.CME.scid
        return name.substr(0, std::min(name.find("_FUT"), name.find('.')));
    if (name.ends_with(".Last.txt"))
        return name.substr(0, name.size() - 9);
    name = std::filesystem::path(name).stem().string();
    const auto digit = [&](std::size_t from_end) {
        return name.size() >= from_end &&
               std::isdigit(static_cast<unsigned char>(name[name.size() - from_end]));
    };
    const auto is = [&](std::size_t from_end, std::string_view set) {
        return name.size() >= from_end && set.find(name[name.size() - from_end]) != std::string_view::npos;
    };
    const bool numbers =
        name.size() > 6 && digit(1) && digit(2) && is(3, "-_") && digit(4) && is(5, "01") && is(6, " _");
    const bool letter = name.size() > 3 && digit(1) && digit(2) && is(3, "FGHJKMNQUVXZ") &&
                        std::isupper(static_cast<unsigned char>(name[name.size() - 4]));
    return numbers || letter ? name : std::string();
}

std::vector<RecognizedColumn> describe_columns(const FileLayout& layout) {
    std::vector<RecognizedColumn> described;
    for (std::size_t i = 0; i < layout.column_count; ++i) {
        RecognizedColumn column{"", std::string(trim(layout.header[i])), i + 1};
        for (const Role& role : roles())
            if (layout.columns.*role.column == static_cast<int>(i))
                column.name = role.name;
        described.push_back(std::move(column));
    }
    return described;
}

} // namespace rekindle::market::reading
