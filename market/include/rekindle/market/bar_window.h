#pragma once
/// The data that a bar feature may read: windows that end with a bar, as exact integer sums.

#include <rekindle/base/scratch_array.h>
#include <rekindle/market/bars.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::market {

class BarSequence;

/// A section of the sequence of bars that belong to sessions (without bars of other contracts), with running
/// sums. Positions count the whole sequence from 0. Windows extend across sessions; prices of earlier bars
/// are shifted into the contract of the bar `seen_from`. Prices, volumes and their sums are integers, so no
/// result depends on where the section begins. A window of n bars ends with bar i and holds bars (i - n, i].
/// All bars of a query must be in the section. Read-only, thread-safe.
class BarWindow {
  public:
    /// Bars [first, end) of the sequence. `macd_above_signal` is the result of macd_above_signal() for the
    /// whole sequence. Throws Error (usage) naming a bar whose volume exceeds 2^48 or whose price is more
    /// than 2^24 ticks away from the previous one, because sums over windows would not be exact.
    BarWindow(const BarTable& bars, const BarSequence& sequence,
              std::span<const std::uint8_t> macd_above_signal, std::size_t first, std::size_t end);

    /// Position after the last bar of the section.
    std::size_t end() const noexcept { return first_ + close_.size(); }
    /// In ticks.
    double close(std::size_t i, std::size_t seen_from) const noexcept {
        return static_cast<double>(close_[i - first_] + offset_[seen_from - first_]);
    }
    double mean_close(std::size_t i, std::size_t n) const noexcept;
    double volume(std::size_t i) const noexcept { return static_cast<double>(volume_.sum(i - first_, 1)); }
    double volume_sum(std::size_t i, std::size_t n) const noexcept {
        return static_cast<double>(volume_.sum(i - first_, n));
    }
    /// Sum of high - low, in ticks.
    double range_sum(std::size_t i, std::size_t n) const noexcept {
        return static_cast<double>(range_.sum(i - first_, n));
    }
    /// Sum of max(high, previous close) - min(low, previous close), in ticks. Also reads the bar before the
    /// window.
    double true_range_sum(std::size_t i, std::size_t n) const noexcept {
        return static_cast<double>(true_range_.sum(i - first_, n));
    }
    /// Sum of the bar-to-bar rises (falls) of the close, in ticks, >= 0. Also reads the bar before the
    /// window.
    double rise_sum(std::size_t i, std::size_t n) const noexcept {
        return static_cast<double>(rise_.sum(i - first_, n));
    }
    double fall_sum(std::size_t i, std::size_t n) const noexcept;
    /// Sample std of the n changes of the close up to bar i, in ticks. Also reads the bar before the window.
    double change_std(std::size_t i, std::size_t n) const noexcept;
    /// Sum of close · volume / sum of volume, in ticks; the mean close if there is no volume.
    double vwap(std::size_t i, std::size_t n, std::size_t seen_from) const noexcept;
    bool macd_above_signal(std::size_t i) const noexcept { return macd_above_signal_[i] != 0; }
    /// NaN without a VIX.
    double vix(std::size_t i) const noexcept { return vix_[i - first_]; }
    /// Weekday of the bar's session; 0 is Monday.
    int weekday(std::size_t i) const noexcept { return weekday_[i - first_]; }

  private:
    /// sums[i] is the sum of the first i values, so that a window is one difference.
    template <class Whole>
    struct RunningSum {
        std::vector<Whole> sums{0};
        void append(Whole value) { sums.push_back(sums.back() + value); }
        Whole sum(std::size_t i, std::size_t n) const noexcept { return sums[i + 1] - sums[i + 1 - n]; }
    };
    __extension__ using Int128 = __int128;

    std::size_t first_;
    std::vector<std::int64_t> close_;  ///< in the contract of the first bar of the sequence
    std::vector<std::int64_t> offset_; ///< from that contract into the bar's contract
    std::vector<float> vix_;
    std::vector<std::int8_t> weekday_;
    RunningSum<std::int64_t> close_sum_, volume_, range_, true_range_, rise_, squared_change_;
    RunningSum<Int128> close_volume_;
    std::span<const std::uint8_t> macd_above_signal_;
};

/// Per position of the sequence: 1 if the MACD line (difference of the exponential means over 12 and 26 bars)
/// is above its signal line (exponential mean over 9 bars). Exponential means start with the first close,
/// like pandas with adjust=False.
ScratchArray<std::uint8_t> macd_above_signal(const BarTable& bars, const BarSequence& sequence,
                                             const Workspace& workspace = {});

} // namespace rekindle::market
