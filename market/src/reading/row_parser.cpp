#include "reading/row_parser.h"

#include "reading/price_fields.h"
#include "reading/row_problem.h"
#include "reading/volume_fields.h"

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
/// The line after the last bar of Barchart's files.
bool is_closing_remark(std::string_view line) {
    return line.starts_with("\"Downloaded from Barchart") || line.starts_with("Downloaded from Barchart");
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
    bars.bid_volume.clear();
    bars.ask_volume.clear();
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
        : settings_(settings), columns_(settings.layout.columns), block_(block), prices_(settings, block),
          volumes_(settings, block) {}

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
            if (fields.size() == 1 && (trim(fields[0]).empty() || is_closing_remark(fields[0])))
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
        BarPrices prices{};
        BarVolumes volumes;
        float vix = std::numeric_limits<float>::quiet_NaN();
        if (!parse_contract(fields, contract, selected, problem))
            return false;
        if (!selected)
            return true;
        if (!parse_time(fields, time, problem) || !prices_.parse(fields, prices, problem) ||
            !volumes_.parse(fields, volumes, problem) || !parse_vix(fields, vix, problem))
            return false;
        BarBuffer& bars = block_.bars;
        bars.time.push_back(time);
        bars.open.push_back(prices[0]);
        bars.high.push_back(prices[1]);
        bars.low.push_back(prices[2]);
        bars.close.push_back(prices[3]);
        bars.volume.push_back(volumes.total);
        if (settings_.sides) {
            bars.bid_volume.push_back(volumes.bid);
            bars.ask_volume.push_back(volumes.ask);
        }
        bars.contract.push_back(contract);
        if (columns_.vix != no_column)
            bars.vix.push_back(vix);
        return true;
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
    PriceFields prices_;
    VolumeFields volumes_;
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
    const PriceFields reader(settings_, block);
    const int contract = settings_.layout.columns.contract;
    pass.for_each_row([&](Fields fields) {
        if (contract == no_column ||
            settings_.contract_filter.accepts(fields[static_cast<std::size_t>(contract)]))
            reader.collect(fields, prices);
    });
}

} // namespace rekindle::market::reading
