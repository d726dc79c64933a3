#include "features/bar_sequence.h"
#include "features/quarterly_expiry.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/bar_window.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rekindle::market {
namespace {

constexpr std::int64_t largest_volume = std::int64_t{1} << 48;
constexpr std::int64_t largest_change = std::int64_t{1} << 24;

[[noreturn]] void throw_too_large(std::size_t bar, const char* what, std::int64_t value, std::int64_t limit) {
    throw usage_error(fmt::format("bar {} has {} of {}", with_thousands(static_cast<std::int64_t>(bar) + 1),
                                  what, with_thousands(value)))
        .expected(fmt::format("at most {}, so that sums over many bars stay exact", with_thousands(limit)));
}

/// Offset from the contract of the first bar of the sequence to that of bar i, in ticks.
std::int64_t offset_from_start(const BarSequence& sequence, std::size_t i) {
    return sequence.roll_offset(i) - sequence.roll_offset(0);
}

} // namespace

BarWindow::BarWindow(const BarTable& bars, const BarSequence& sequence,
                     std::span<const std::uint8_t> macd_above_signal, std::size_t first, std::size_t end)
    : first_(first), macd_above_signal_(macd_above_signal) {
    const BarColumns& columns = bars.columns();
    const std::size_t count = end - first;
    close_.reserve(count);
    offset_.reserve(count);
    vix_.reserve(count);
    weekday_.reserve(count);
    for (std::size_t i = first; i < end; ++i) {
        const std::size_t bar = sequence.bar(i);
        const std::int64_t offset = offset_from_start(sequence, i);
        const std::int64_t close = columns.close[bar] - offset;
        const std::int64_t high = columns.high[bar] - offset;
        const std::int64_t low = columns.low[bar] - offset;
        const std::int64_t previous = i == first ? close : close_.back();
        const std::int64_t volume = columns.volume[bar];
        if (volume > largest_volume)
            throw_too_large(bar, "a volume", volume, largest_volume);
        const std::int64_t true_range = std::max(high, previous) - std::min(low, previous);
        if (true_range > largest_change)
            throw_too_large(bar, "a range (ticks, with the previous close)", true_range, largest_change);
        const std::int64_t change = close - previous;
        close_.push_back(close);
        offset_.push_back(offset);
        vix_.push_back(columns.vix.empty() ? std::numeric_limits<float>::quiet_NaN() : columns.vix[bar]);
        weekday_.push_back(static_cast<std::int8_t>(weekday_from_monday(sequence.session(i).date)));
        close_sum_.append(close);
        volume_.append(volume);
        range_.append(high - low);
        true_range_.append(true_range);
        rise_.append(std::max(change, std::int64_t{0}));
        squared_change_.append(change * change);
        close_volume_.append(static_cast<Int128>(close) * volume);
    }
}

double BarWindow::mean_close(std::size_t i, std::size_t n) const noexcept {
    const auto count = static_cast<std::int64_t>(n);
    return static_cast<double>(close_sum_.sum(i - first_, n) + count * offset_[i - first_]) /
           static_cast<double>(n);
}

double BarWindow::fall_sum(std::size_t i, std::size_t n) const noexcept {
    const std::int64_t change = close_[i - first_] - close_[i - first_ - n];
    return static_cast<double>(rise_.sum(i - first_, n) - change);
}

double BarWindow::change_std(std::size_t i, std::size_t n) const noexcept {
    const auto count = static_cast<std::int64_t>(n);
    const std::int64_t change = close_[i - first_] - close_[i - first_ - n];
    const std::int64_t squares = squared_change_.sum(i - first_, n);
    const Int128 scatter = static_cast<Int128>(count) * squares - static_cast<Int128>(change) * change;
    return std::sqrt(static_cast<double>(scatter) / static_cast<double>(count * (count - 1)));
}

double BarWindow::vwap(std::size_t i, std::size_t n, std::size_t seen_from) const noexcept {
    const std::int64_t offset = offset_[seen_from - first_];
    const std::int64_t volume = volume_.sum(i - first_, n);
    if (volume == 0) {
        const auto count = static_cast<std::int64_t>(n);
        return static_cast<double>(close_sum_.sum(i - first_, n) + count * offset) / static_cast<double>(n);
    }
    const Int128 traded = close_volume_.sum(i - first_, n) + static_cast<Int128>(offset) * volume;
    return static_cast<double>(traded) / static_cast<double>(volume);
}

ScratchArray<std::uint8_t> macd_above_signal(const BarTable& bars, const BarSequence& sequence,
                                             const Workspace& workspace) {
    constexpr auto weight = [](double span) { return 2 / (span + 1); };
    const auto close = bars.columns().close;
    ScratchArray<std::uint8_t> above(sequence.size(), workspace.folder);
    double fast = 0;
    double slow = 0;
    double signal = 0;
    for (std::size_t i = 0; i < sequence.size(); ++i) {
        const auto price = static_cast<double>(close[sequence.bar(i)] - offset_from_start(sequence, i));
        if (i == 0 || sequence.session(i - 1).stretch != sequence.session(i).stretch) {
            fast = slow = price;
            signal = 0;
        }
        fast += weight(12) * (price - fast);
        slow += weight(26) * (price - slow);
        const double line = fast - slow;
        signal += weight(9) * (line - signal);
        above[i] = line > signal;
    }
    return above;
}

} // namespace rekindle::market
