#include "reading/row_parser.h"

#include <rekindle/base/text.h>
#include <rekindle/market/clock.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>

namespace rekindle::market::reading {

namespace {

constexpr std::size_t excerpt_limit = 400;
/// Rounding a fraction of such a volume to a whole unit changes it by less than 0.05 %.
constexpr double fewest_units_to_round = 1000;
constexpr double largest_volume = 0x1p62;

/// A value for display in a message: short and without control characters.
std::string shown(std::string_view text) {
    std::string result;
    for (const char c : text.substr(0, 40))
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
            result += c;
    return text.size() > 40 ? result + "…" : result;
}

/// Why a row cannot be used; field is a position, counted from 0.
struct Problem {
    std::size_t field = 0;
    std::string reason;
    std::string expected;
};

using Fields = std::span<const std::string_view>;

constexpr std::array<int ColumnMap::*, 4> price_columns{&ColumnMap::open, &ColumnMap::high, &ColumnMap::low,
                                                        &ColumnMap::close};
constexpr std::array<std::string_view, 4> price_names{"open", "high", "low", "close"};
enum Price : std::size_t { open, high, low, close };

Problem missing_or_malformed(std::size_t field, std::string_view name, std::string_view text) {
    if (is_missing_value(text))
        return {field,
                fmt::format("the {} is missing{}", name,
                            trim(text).empty() ? "" : fmt::format(" ({})", shown(trim(text)))),
                "a number"};
    return {field, fmt::format("the {} \"{}\" is not a number", name, shown(text)),
            "a decimal number such as 4527.25"};
}

/// Valid UTF-8 (Unicode 15, table 3-7) without control characters.
bool is_plain_text(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = [&](std::size_t at) {
            return at < text.size() ? static_cast<unsigned>(static_cast<unsigned char>(text[at])) : 0u;
        };
        const unsigned lead = byte(i);
        const std::size_t more = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
        const unsigned lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        const unsigned highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        if (lead < 0x20 || lead == 0x7F || (lead >= 0x80 && lead < 0xC2) || lead > 0xF4)
            return false;
        for (std::size_t k = 1; k <= more; ++k)
            if (byte(i + k) < (k == 1 ? lowest : 0x80) || byte(i + k) > (k == 1 ? highest : 0xBF))
                return false;
        i += 1 + more;
    }
    return true;
}

} // namespace

std::string row_excerpt(std::string_view line) {
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    return std::string(line.substr(0, excerpt_limit));
}

void ParsedBlock::clear() {
    for (auto* column : {&bars.open, &bars.high, &bars.low, &bars.close})
        column->clear();
    bars.time.clear();
    bars.volume.clear();
    bars.contract.clear();
    bars.vix.clear();
    line.clear();
    offset.clear();
    contracts.clear();
    other_contracts.clear();
    rejected.clear();
    misfits.clear();
    rejected_count = lines = prices = prices_rounded = prices_misfit = 0;
    negative_closes = unknown_volumes = volumes_rounded = small_fractions = 0;
    volume_decimals = 0;
    largest_rounding = 0;
}

/// One pass over one block.
class RowParser::Pass {
  public:
    Pass(const Settings& settings, ParsedBlock& block)
        : settings_(settings), columns_(settings.layout.columns), block_(block) {}

    /// Calls row(fields) for each row that has fields; malformed lines are rejected.
    template <class Row>
    void for_each_row(const Row& row) {
        const std::string_view text = block_.text;
        const bool quotes = text.find('"') != std::string_view::npos;
        const auto separators = find_separators(text, settings_.layout.delimiter, block_.separators);
        std::vector<std::string_view> fields;
        std::size_t begin = 0;
        for (std::size_t i = 0; i < separators.size(); ++block_.lines) {
            line_begin_ = begin;
            fields.clear();
            for (;; ++i) {
                const std::size_t end = separators[i];
                fields.emplace_back(text.data() + begin, end - begin);
                begin = end + 1;
                if (end == text.size() || text[end] == '\n')
                    break;
            }
            ++i;
            if (fields.back().ends_with('\r'))
                fields.back().remove_suffix(1);
            line_ = text.substr(line_begin_, begin - 1 - line_begin_);
            unended_ = begin > text.size();
            if (fields.size() == 1 && trim(fields[0]).empty())
                continue;
            if (quotes && line_.find('"') != std::string_view::npos)
                parse_quoted(row);
            else
                check_and_parse(fields, row);
        }
    }

    void add_row(Fields fields) {
        Problem problem;
        const std::size_t old_size = block_.bars.size();
        if (!parse_fields(fields, problem))
            reject(problem, fields);
        else if (block_.bars.size() != old_size) {
            block_.line.push_back(static_cast<std::uint32_t>(block_.lines));
            block_.offset.push_back(static_cast<std::uint32_t>(line_begin_));
        }
    }

    void compare_time(Fields fields, std::vector<std::optional<std::int64_t>>& before, Times& times) {
        std::uint16_t contract = 0;
        bool selected = true;
        std::int64_t time = 0;
        Problem ignored;
        if (!parse_contract(fields, contract, selected, ignored) || !selected ||
            !parse_time(fields, time, ignored))
            return;
        const auto stamp = stamp_of(fields);
        ++times.rows;
        times.at_midnight += stamp && stamp->label % day_seconds == 0;
        if (stamp && times.first.size() < times_limit)
            times.first.push_back(*stamp);
        before.resize(std::max<std::size_t>(before.size(), contract + std::size_t{1}));
        std::optional<std::int64_t>& last = before[contract];
        if (last) {
            times.backwards += time < *last;
            times.forwards += time > *last;
            if (const std::int64_t distance = std::abs(time - *last); distance > 0) {
                ++(distance < day ? times.short_distances : times.day_distances);
                times.shortest_distance = std::min(times.shortest_distance, distance);
            }
        }
        last = time;
    }

    void collect(Fields fields, std::vector<Decimal>& prices) const {
        std::array<Decimal, 4> row;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const auto value = price_of(fields[static_cast<std::size_t>(columns_.*price_columns[i])]);
            if (!value || value->mantissa == 0)
                return;
            row[i] = *value;
        }
        prices.insert(prices.end(), row.begin(), row.end());
    }

  private:
    template <class Row>
    void check_and_parse(Fields fields, const Row& row) {
        const std::size_t expected = settings_.layout.column_count;
        if (fields.size() != expected)
            return reject({std::min(fields.size() - 1, expected), counted(fields.size(), "field"),
                           fmt::format("{}", expected)},
                          fields);
        row(fields);
    }

    template <class Row>
    void parse_quoted(const Row& row) {
        const std::string_view line = line_.ends_with('\r') ? line_.substr(0, line_.size() - 1) : line_;
        const auto texts = split_fields(line, settings_.layout.delimiter);
        if (!texts)
            return reject({0, "a quote is not closed", "quotes in pairs"}, {});
        const std::vector<std::string_view> fields(texts->begin(), texts->end());
        quoted_ = true;
        check_and_parse(fields, row);
        quoted_ = false;
    }

    void reject(const Problem& problem, Fields fields) {
        ++block_.rejected_count;
        if (block_.rejected.size() >= settings_.rejected_limit)
            return;
        RejectedRow row;
        row.line = block_.lines;
        row.column = column_of(problem.field, fields);
        row.reason = problem.reason;
        if (unended_)
            row.reason += "; the file ends within this row, without a line break, as if it were cut off";
        row.expected = problem.expected;
        row.text = row_excerpt(line_);
        block_.rejected.push_back(std::move(row));
    }

    /// Fields of a quoted line are copies, so their position is found by scanning the line.
    std::uint64_t column_of(std::size_t field, Fields fields) const {
        if (fields.empty())
            return 1;
        if (!quoted_)
            return static_cast<std::uint64_t>(fields[field].data() - line_.data()) + 1;
        bool inside = false;
        for (std::size_t i = 0; i < line_.size(); ++i) {
            if (field == 0)
                return i + 1;
            inside ^= line_[i] == '"';
            field -= !inside && line_[i] == settings_.layout.delimiter;
        }
        return line_.size() + 1;
    }

    bool parse_fields(Fields fields, Problem& problem) {
        std::uint16_t contract = 0;
        bool selected = true;
        std::int64_t time = 0;
        std::array<Ticks, 4> prices{};
        std::int64_t volume = 0;
        float vix = std::numeric_limits<float>::quiet_NaN();
        if (!parse_contract(fields, contract, selected, problem))
            return false;
        if (!selected)
            return true;
        if (!parse_time(fields, time, problem) || !parse_prices(fields, prices, problem) ||
            !parse_volume(fields, volume, problem) || !parse_vix(fields, vix, problem))
            return false;
        BarBuffer& bars = block_.bars;
        bars.time.push_back(time);
        bars.open.push_back(prices[open]);
        bars.high.push_back(prices[high]);
        bars.low.push_back(prices[low]);
        bars.close.push_back(prices[close]);
        bars.volume.push_back(volume);
        bars.contract.push_back(contract);
        if (columns_.vix != no_column)
            bars.vix.push_back(vix);
        return true;
    }

    std::optional<Decimal> price_of(std::string_view text) const {
        return settings_.layout.decimal_comma ? parse_price(without_decimal_comma(text)) : parse_price(text);
    }

    static std::string_view field(Fields fields, int column) {
        return fields[static_cast<std::size_t>(column)];
    }

    bool parse_contract(Fields fields, std::uint16_t& index, bool& selected, Problem& problem) {
        const bool has_column = columns_.contract != no_column;
        const std::string_view name =
            has_column ? field(fields, columns_.contract) : std::string_view(settings_.layout.contract);
        if (last_contract_ != npos && name == block_.contracts[last_contract_]) {
            index = static_cast<std::uint16_t>(last_contract_);
            return true;
        }
        if (has_column && trim(name).empty()) {
            problem = {static_cast<std::size_t>(columns_.contract), "the contract is missing", "its name"};
            return false;
        }
        if (!is_plain_text(name)) {
            problem = {static_cast<std::size_t>(std::max(columns_.contract, 0)),
                       fmt::format("the contract \"{}\" is not text", shown(name)),
                       "UTF-8 without control characters"};
            return false;
        }
        selected = settings_.contract_filter.accepts(name);
        if (!selected && settings_.contract_filter.is_exact())
            return true;
        auto& names = selected ? block_.contracts : block_.other_contracts;
        auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end() && names.size() > std::numeric_limits<std::uint16_t>::max()) {
            problem = {static_cast<std::size_t>(std::max(columns_.contract, 0)), "more than 65,536 contracts",
                       "fewer"};
            return false;
        }
        if (found == names.end())
            found = names.emplace(names.end(), name);
        if (selected)
            last_contract_ = static_cast<std::size_t>(found - names.begin());
        index = static_cast<std::uint16_t>(found - names.begin());
        return true;
    }

    std::optional<Stamp> stamp_of(Fields fields) const {
        const StampFormat& format = settings_.layout.stamp;
        if (columns_.time != no_column)
            return parse_stamp(format, field(fields, columns_.time));
        return parse_stamp(format, field(fields, columns_.date), field(fields, columns_.clock));
    }

    bool parse_time(Fields fields, std::int64_t& time, Problem& problem) const {
        const StampFormat& format = settings_.layout.stamp;
        if (const auto stamp = stamp_of(fields)) {
            time = stamp->label - (settings_.labels || format.dates_only() ? 0 : stamp->offset);
            return true;
        }
        const bool one_field = columns_.time != no_column;
        const std::string_view date = field(fields, one_field ? columns_.time : columns_.date);
        problem.field = static_cast<std::size_t>(one_field ? columns_.time : columns_.date);
        problem.expected = format.example();
        if (is_missing_value(date))
            problem.reason = "the time is missing";
        else if (format.date == DateFormat::us && looks_like_day_first(date))
            problem.reason = fmt::format("\"{}\" has the day before the month", shown(date));
        else
            problem.reason = fmt::format("\"{}{}{}\" is not a valid time", shown(date), one_field ? "" : " ",
                                         one_field ? "" : shown(field(fields, columns_.clock)));
        return false;
    }

    bool parse_prices(Fields fields, std::array<Ticks, 4>& prices, Problem& problem) {
        std::array<Decimal, 4> values;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto position = static_cast<std::size_t>(columns_.*price_columns[i]);
            const auto value = price_of(fields[position]);
            if (!value) {
                problem = missing_or_malformed(position, price_names[i], fields[position]);
                return false;
            }
            values[i] = *value;
        }
        if (!check_signs(fields, values, problem) || !convert_prices(fields, values, prices, problem))
            return false;
        if (!settings_.tick.has_tick())
            widen_range(prices);
        return check_range(fields, prices, problem);
    }

    /// Four equal prices at or below 0 stand for missing ones (0, -1, -99).
    bool check_signs(Fields fields, const std::array<Decimal, 4>& values, Problem& problem) {
        const auto* low =
            std::ranges::find_if(values, [](const Decimal& value) { return value.mantissa <= 0; });
        if (low == values.end())
            return true;
        const bool placeholder = std::ranges::all_of(values, [&](const Decimal& value) {
            return value.mantissa == low->mantissa && value.scale == low->scale;
        });
        block_.negative_closes += !placeholder && values[close].mantissa < 0;
        if (settings_.negative_prices && !placeholder)
            return true;
        const auto i = static_cast<std::size_t>(low - values.begin());
        const auto position = static_cast<std::size_t>(columns_.*price_columns[i]);
        problem = {position,
                   fmt::format("the {} {} is not positive", price_names[i], shown(fields[position])),
                   "a price above zero"};
        return false;
    }

    /// An adjustment factor applied to all four prices may have rounded the open or close just out of the
    /// range.
    static void widen_range(std::array<Ticks, 4>& prices) {
        constexpr double precision = 0x1p-20;
        const Ticks noise = 1 + static_cast<Ticks>(precision * std::abs(static_cast<double>(prices[high])));
        for (const std::size_t i : {open, close}) {
            if (prices[i] > prices[high] && prices[i] - prices[high] <= noise)
                prices[high] = prices[i];
            if (prices[i] < prices[low] && prices[low] - prices[i] <= noise)
                prices[low] = prices[i];
        }
    }

    /// Converts all four, so that the counts do not depend on which one is wrong first.
    bool convert_prices(Fields fields, const std::array<Decimal, 4>& values, std::array<Ticks, 4>& prices,
                        Problem& problem) {
        bool good = true;
        block_.prices += values.size();
        for (std::size_t i = 0; i < values.size(); ++i) {
            const PriceStatus status = settings_.tick.convert(values[i], prices[i]);
            if (status == PriceStatus::exact) [[likely]]
                continue;
            block_.prices_rounded += status == PriceStatus::rounded || status == PriceStatus::noisy;
            if (status == PriceStatus::rounded || status == PriceStatus::noisy)
                block_.largest_rounding =
                    std::max(block_.largest_rounding, settings_.tick.distance(values[i], prices[i]));
            if (status == PriceStatus::rounded)
                continue;
            ++block_.prices_misfit;
            if (block_.misfits.size() < misfit_limit)
                block_.misfits.push_back(values[i]);
            if (status == PriceStatus::noisy)
                continue;
            if (good) {
                const auto position = static_cast<std::size_t>(columns_.*price_columns[i]);
                problem = {position,
                           fmt::format("the {} {} is {}", price_names[i], shown(fields[position]),
                                       status == PriceStatus::off_tick ? "between two ticks"
                                       : settings_.tick.has_tick()     ? "too large for the tick"
                                                                       : "too large beside the other prices"),
                           expected_price()};
            }
            good = false;
        }
        return good;
    }

    std::string expected_price() const {
        const TickSize step = settings_.tick.tick();
        if (settings_.tick.has_tick())
            return fmt::format("a multiple of the tick {}", shortest(step.points));
        return fmt::format("less than {:.6g}", step.to_points(std::numeric_limits<Ticks>::max()));
    }

    bool check_range(Fields fields, const std::array<Ticks, 4>& prices, Problem& problem) const {
        const auto position = [&](std::size_t i) {
            return static_cast<std::size_t>(columns_.*price_columns[i]);
        };
        const auto text = [&](std::size_t i) { return shown(fields[position(i)]); };
        if (prices[high] < prices[low]) {
            problem = {position(high), fmt::format("the high {} is below the low {}", text(high), text(low)),
                       "high >= low"};
            return false;
        }
        for (const std::size_t i : {open, close})
            if (prices[i] < prices[low] || prices[i] > prices[high]) {
                problem = {position(i),
                           fmt::format("the {} {} is outside the range {} to {}", price_names[i], text(i),
                                       text(low), text(high)),
                           "low <= open, close <= high"};
                return false;
            }
        return true;
    }

    bool parse_volume(Fields fields, std::int64_t& volume, Problem& problem) const {
        if (columns_.volume == no_column)
            return true;
        const auto position = static_cast<std::size_t>(columns_.volume);
        const auto value = settings_.layout.decimal_comma
                               ? reading::parse_volume(without_decimal_comma(fields[position]))
                               : reading::parse_volume(fields[position]);
        if (!value) {
            problem = missing_or_malformed(position, "volume", fields[position]);
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
            problem = {position, fmt::format("the volume {} is negative", shown(fields[position])),
                       "zero or more"};
            return false;
        }
        block_.volume_decimals = std::max(block_.volume_decimals, scale);
        return scale_volume({volume, scale, value->exact}, position, fields, volume, problem);
    }

    /// Converts a volume to the steps in which volumes are stored.
    bool scale_volume(const Decimal& value, std::size_t position, Fields fields, std::int64_t& volume,
                      Problem& problem) const {
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

    bool parse_vix(Fields fields, float& vix, Problem& problem) const {
        if (columns_.vix == no_column || fields[static_cast<std::size_t>(columns_.vix)].empty())
            return true;
        const auto position = static_cast<std::size_t>(columns_.vix);
        if (is_missing_value(fields[position]))
            return true;
        const auto value = parse_decimal(fields[position]);
        if (!value || value->mantissa <= 0) {
            problem = {position,
                       fmt::format("the VIX \"{}\" is not a positive number", shown(fields[position])),
                       "a number above zero, or nothing"};
            return false;
        }
        vix = static_cast<float>(value->value());
        return true;
    }

    static constexpr std::size_t npos = static_cast<std::size_t>(-1);
    const Settings& settings_;
    const ColumnMap& columns_;
    ParsedBlock& block_;
    std::size_t line_begin_ = 0;
    std::string_view line_;
    bool quoted_ = false;
    bool unended_ = false; ///< the last line of the file has no line break
    std::size_t last_contract_ = npos;
};

std::vector<std::string_view> split_blocks(std::string_view text) {
    constexpr std::size_t block_size = 256 << 10;
    std::vector<std::string_view> blocks;
    while (!text.empty()) {
        const std::size_t newline =
            text.size() <= block_size ? std::string_view::npos : text.find('\n', block_size);
        const std::size_t end = newline == std::string_view::npos ? text.size() : newline + 1;
        blocks.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return blocks;
}

RowParser::Times RowParser::count_times(std::string_view text) const {
    ParsedBlock block;
    block.text = text;
    Pass pass(settings_, block);
    Times times;
    times.has_offset = settings_.layout.stamp.offset;
    std::vector<std::optional<std::int64_t>> before;
    pass.for_each_row([&](Fields fields) { pass.compare_time(fields, before, times); });
    return times;
}

std::vector<std::string> RowParser::contracts_in(std::string_view text) const {
    ParsedBlock block;
    block.text = text;
    Pass pass(settings_, block);
    std::set<std::string, std::less<>> names;
    std::string last;
    pass.for_each_row([&](Fields fields) {
        const std::string_view name = fields[static_cast<std::size_t>(settings_.layout.columns.contract)];
        if (name == last || trim(name).empty() || !is_plain_text(name))
            return;
        last = name;
        if (names.find(name) == names.end())
            names.insert(last);
    });
    return {names.begin(), names.end()};
}

bool RowParser::has_volume(std::string_view text) const {
    ParsedBlock block;
    block.text = text;
    Pass pass(settings_, block);
    bool found = false;
    pass.for_each_row([&](Fields fields) {
        const auto volume =
            reading::parse_volume(fields[static_cast<std::size_t>(settings_.layout.columns.volume)]);
        found |= volume && volume->mantissa > 0;
    });
    return found;
}

bool RowParser::lacks_volumes(std::string_view text) const {
    if (settings_.layout.columns.volume == no_column)
        return false;
    ParsedBlock block;
    block.text = text;
    Pass pass(settings_, block);
    bool any = false, all_missing = true;
    pass.for_each_row([&](Fields fields) {
        any = true;
        all_missing &= is_missing_value(fields[static_cast<std::size_t>(settings_.layout.columns.volume)]);
    });
    return any && all_missing;
}

void RowParser::parse(std::string_view text, ParsedBlock& block) const {
    block.clear();
    block.text = text;
    Pass pass(settings_, block);
    pass.for_each_row([&](Fields fields) { pass.add_row(fields); });
}

void RowParser::collect_prices(std::string_view text, std::vector<Decimal>& prices) const {
    ParsedBlock block;
    block.text = text;
    Pass pass(settings_, block);
    pass.for_each_row([&](Fields fields) { pass.collect(fields, prices); });
}

} // namespace rekindle::market::reading
