#include "reading/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rekindle::market::reading {

namespace {

constexpr std::int64_t before_all = std::numeric_limits<std::int64_t>::min();

std::string civil(std::int64_t label) {
    return format_civil(label);
}

/// Removes the marked elements.
template <class T>
void drop(std::vector<T>& values, const std::vector<bool>& dropped) {
    if (values.empty())
        return;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!dropped[i])
            values[kept++] = values[i];
    values.resize(kept);
}

void drop_rows(ParsedBlock& block, const std::vector<bool>& dropped) {
    BarBuffer& bars = block.bars;
    drop(bars.time, dropped);
    drop(bars.open, dropped);
    drop(bars.high, dropped);
    drop(bars.low, dropped);
    drop(bars.close, dropped);
    drop(bars.volume, dropped);
    drop(bars.contract, dropped);
    drop(bars.vix, dropped);
    drop(bars.bid_volume, dropped);
    drop(bars.ask_volume, dropped);
    drop(block.line, dropped);
}

} // namespace

void BarCollector::begin_file(const std::filesystem::path& path, const FileLayout& layout, bool newest_first,
                              const DayStamps* days, bool labels) {
    file_convert_.reset();
    if (!layout.stamp.zone.empty() && !labels)
        file_convert_.emplace(layout.stamp.zone);
    path_ = path;
    layout_ = &layout;
    newest_first_ = newest_first;
    days_ = days;
    next_line_ = layout.data_line;
    previous_.assign(contracts_.size(), before_all);
    file_starts_.push_back(totals_.rows);
    distances_.emplace_back();
}

std::vector<std::uint16_t> BarCollector::global_contracts(const ParsedBlock& block) {
    std::vector<std::uint16_t> indices;
    for (const std::string& name : block.contracts) {
        auto found = std::find_if(contracts_.begin(), contracts_.end(),
                                  [&](const CollectedContract& contract) { return contract.name == name; });
        if (found == contracts_.end()) {
            if (contracts_.size() > std::numeric_limits<std::uint16_t>::max())
                throw usage_error("more than 65,536 contracts").at(path_.string());
            found = contracts_.insert(contracts_.end(), {.name = name});
            previous_.push_back(before_all);
        }
        indices.push_back(static_cast<std::uint16_t>(found - contracts_.begin()));
    }
    return indices;
}

RejectedRow BarCollector::describe(const ParsedBlock& block, std::size_t row, std::string reason,
                                   std::string expected) const {
    RejectedRow rejected;
    rejected.line = block.line[row];
    rejected.column = 1;
    rejected.reason = std::move(reason);
    rejected.expected = std::move(expected);
    const std::string_view rest = block.text.substr(block.offset[row]);
    rejected.text = row_excerpt(rest.substr(0, rest.find('\n')));
    return rejected;
}

void BarCollector::check_order(ParsedBlock& block, std::vector<RejectedRow>& rejected,
                               std::vector<bool>& dropped) {
    BarBuffer& bars = block.bars;
    const std::optional<LabelConverter>& converter = file_convert_ ? file_convert_ : convert_;
    const bool convert = converter && !layout_->stamp.offset && !layout_->stamp.dates_only();
    DistanceCounter& distances = distances_.back();
    const auto reject = [&](std::size_t row, std::string reason, std::string expected) {
        dropped.resize(bars.size());
        dropped[row] = true;
        if (rejected.size() < rejects_.limit())
            rejected.push_back(describe(block, row, std::move(reason), std::move(expected)));
        else
            rejects_.add_count(1);
    };
    for (std::size_t row = 0; row < bars.size(); ++row) {
        const std::int64_t label = bars.time[row];
        std::int64_t& previous = previous_[bars.contract[row]];
        if (convert) {
            const auto instant = converter->to_utc(label, previous);
            if (!instant) {
                reject(row,
                       fmt::format("{} does not exist in {}: the clocks are set forward past it",
                                   civil(label), converter->zone()),
                       "a time that exists in that zone, or another --clock");
                continue;
            }
            bars.time[row] = *instant;
        }
        if (days_)
            bars.time[row] = std::int64_t{days_->date(bars.time[row])} * day_seconds;
        const std::int64_t time = bars.time[row];
        if (time <= previous) [[unlikely]] {
            const std::string& name = contracts_[bars.contract[row]].name;
            const std::string of = name.empty() ? "" : " of contract " + name;
            if (time == previous && days_)
                reject(row, fmt::format("a second bar{} of {}", of, format_date(date_of(time))),
                       "one bar per date");
            else if (time == previous)
                reject(row, fmt::format("a second bar{} at {}", of, civil(label)), "one bar per timestamp");
            else if (newest_first_)
                reject(row,
                       fmt::format("{}{} is out of order in a file that starts with its newest bar",
                                   civil(label), of),
                       "each bar to be older than the one above it");
            else
                reject(row, fmt::format("the time goes backward to {}{}", civil(label), of),
                       "bars in chronological order");
            continue;
        }
        if (previous != before_all)
            distances.add(time - previous);
        previous = time;
        needs_ordering_ |= time <= last_time_;
        last_time_ = time;
        if (!bars.vix.empty() && !std::isnan(bars.vix[row]))
            vix_.add(date_of(days_ ? time : label), bars.vix[row]);
    }
}

void BarCollector::report(ParsedBlock& block, std::uint64_t line, std::vector<RejectedRow> rejected) {
    rejects_.add_count(block.rejected_count - block.rejected.size());
    rejected.insert(rejected.end(), std::make_move_iterator(block.rejected.begin()),
                    std::make_move_iterator(block.rejected.end()));
    std::stable_sort(rejected.begin(), rejected.end(),
                     [](const RejectedRow& a, const RejectedRow& b) { return a.line < b.line; });
    for (RejectedRow& row : rejected) {
        row.file = path_;
        row.line += line;
        rejects_.add(std::move(row));
    }
}

void BarCollector::add_at(ParsedBlock& block, std::uint64_t first_line) {
    BarBuffer& bars = block.bars;
    const std::vector<std::uint16_t> contract_of = global_contracts(block);
    if (contract_of != std::vector<std::uint16_t>{0})
        for (std::uint16_t& contract : bars.contract)
            contract = contract_of[contract];
    std::vector<RejectedRow> rejected;
    std::vector<bool> dropped;
    check_order(block, rejected, dropped);
    if (!dropped.empty())
        drop_rows(block, dropped);
    report(block, first_line, std::move(rejected));

    for (std::size_t row = 0; row < bars.size(); ++row) {
        CollectedContract& contract = contracts_[bars.contract[row]];
        ++contract.rows;
        contract.first_time = std::min(contract.first_time, bars.time[row]);
        contract.last_time = std::max(contract.last_time, bars.time[row]);
    }
    for (const std::string& name : block.other_contracts)
        if (other_contracts_.size() < 1000 &&
            std::find(other_contracts_.begin(), other_contracts_.end(), name) == other_contracts_.end())
            other_contracts_.push_back(name);
    totals_.rows += bars.size();
    totals_.prices += block.prices;
    totals_.prices_rounded += block.prices_rounded;
    totals_.largest_rounding = std::max(totals_.largest_rounding, block.largest_rounding);
    totals_.prices_misfit += block.prices_misfit;
    totals_.negative_closes += block.negative_closes;
    totals_.unknown_volumes += block.unknown_volumes;
    totals_.volumes_rounded += block.volumes_rounded;
    totals_.small_fractions += block.small_fractions;
    totals_.volume_decimals = std::max(totals_.volume_decimals, block.volume_decimals);
    for (std::size_t row = 0; row < bars.size(); ++row) {
        const std::int32_t date = date_of(bars.time[row]);
        volume_of_date_ =
            static_cast<double>(bars.volume[row]) + (date == volume_date_ ? volume_of_date_ : 0);
        volume_date_ = date;
        totals_.largest_daily_volume = std::max(totals_.largest_daily_volume, volume_of_date_);
    }
    for (const Decimal& price : block.misfits)
        if (misfits_.size() < misfit_limit)
            misfits_.push_back(price);
    if (keep_lines_)
        for (std::uint32_t& line : block.line)
            line = static_cast<std::uint32_t>(line + first_line);
    stage_.append(bars, keep_lines_ ? std::span<const std::uint32_t>(block.line)
                                    : std::span<const std::uint32_t>());
}

} // namespace rekindle::market::reading
