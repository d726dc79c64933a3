#include "features/window_statistics.h"

/// The 19 columns of the original system's per-minute set.

#include <rekindle/market/minute_features.h>

#include <cmath>
#include <limits>

namespace rekindle::market {
namespace {

using MinuteValue = double (*)(const BarWindow&, std::size_t);

constexpr std::size_t vwap_bars = 720;
constexpr std::size_t vwap_trend_bars = 60;
constexpr std::size_t macd_warm_up = 26 + 9 - 2;

/// 1 if both are 0: nothing was traded, or nothing moved, in the whole window.
double ratio_to_usual(double now, double usual) {
    return now == 0 && usual == 0 ? 1 : now / usual;
}

int sign(double value) {
    return (value > 0) - (value < 0);
}

template <std::size_t bars>
double momentum(const BarWindow& w, std::size_t i) {
    return percent_change(w.close(i, i), w.close(i - bars, i));
}

double volume_ratio(const BarWindow& w, std::size_t i) {
    return ratio_to_usual(w.volume(i), w.volume_sum(i, 5) / 5);
}

double volume_surge(const BarWindow& w, std::size_t i) {
    return volume_ratio(w, i) > 1.5 ? 1 : 0;
}

double price_acceleration(const BarWindow& w, std::size_t i) {
    return momentum<1>(w, i) - percent_change(w.close(i - 1, i), w.close(i - 2, i));
}

double volume_price_divergence(const BarWindow& w, std::size_t i) {
    const int price = sign(w.close(i, i) - w.close(i - 5, i));
    const int volume = sign(w.volume_sum(i, 5) - w.volume_sum(i - 5, 5));
    return price * volume < 0 ? 1 : 0;
}

double volatility_regime(const BarWindow& w, std::size_t i) {
    return ratio_to_usual(w.change_std(i, 10), w.change_std(i, 60));
}

double volatility_trend(const BarWindow& w, std::size_t i) {
    const double usual = w.change_std(i, 60);
    return usual == 0 ? 0 : (w.change_std(i, 10) - w.change_std(i - 10, 10)) / usual;
}

double range_ratio(const BarWindow& w, std::size_t i) {
    return ratio_to_usual(w.range_sum(i, 1), w.range_sum(i, 10) / 10);
}

double lagged_rsi(const BarWindow& w, std::size_t i) {
    const double rises = w.rise_sum(i - 1, 14);
    const double falls = w.fall_sum(i - 1, 14);
    return rises + falls == 0 ? 50 : 100 * rises / (rises + falls);
}

double atr_ratio(const BarWindow& w, std::size_t i) {
    const double close = w.close(i, i);
    return close > 0 ? 100 * (w.true_range_sum(i, 14) / 14) / close
                     : std::numeric_limits<double>::quiet_NaN();
}

double close_to_vwap(const BarWindow& w, std::size_t i) {
    return percent_change(w.close(i, i), w.vwap(i, vwap_bars, i));
}

double vwap_trend(const BarWindow& w, std::size_t i) {
    return percent_change(w.vwap(i, vwap_bars, i), w.vwap(i - vwap_trend_bars, vwap_bars, i));
}

std::vector<MinuteFeature> make_minute_table() {
    std::vector<MinuteFeature> table;
    const auto add = [&](const char* name, const char* formula, std::size_t look_back, MinuteValue value) {
        const int bars = static_cast<int>(look_back);
        table.push_back({{name, "minute", formula, bars, bars}, value});
    };
    add("price_momentum_1d", "change of the close over 1 bar, in percent", 1, momentum<1>);
    add("price_momentum_3d", "change of the close over 3 bars, in percent", 3, momentum<3>);
    add("price_momentum_5d", "change of the close over 5 bars, in percent", 5, momentum<5>);
    add("price_vs_ma_10d", "difference between the close and its mean over 10 bars, in percent", 9,
        [](const BarWindow& w, std::size_t i) { return percent_change(w.close(i, i), w.mean_close(i, 10)); });
    add("price_acceleration", "price_momentum_1d - its value at the previous bar, in percentage points", 2,
        price_acceleration);
    add("volume_ratio_5d", "volume / its mean over 5 bars; 1 if none of them has volume", 4, volume_ratio);
    table.back().info.needs_volume = true;
    add("volume_surge", "1 if volume_ratio_5d > 1.5, otherwise 0", 4, volume_surge);
    table.back().info.needs_volume = true;
    add("volume_price_divergence",
        "1 if the close over 5 bars and the volume of these 5 bars relative to the 5 bars before moved in "
        "opposite directions, otherwise 0",
        9, volume_price_divergence);
    table.back().info.needs_volume = true;
    add("volatility_regime",
        "sample std of the bar-to-bar changes of the close over 10 bars / that over 60 bars; 1 if nothing "
        "moved",
        60, volatility_regime);
    add("volatility_trend",
        "(that std over 10 bars - its value 10 bars ago) / the std over 60 bars; 0 if nothing moved", 60,
        volatility_trend);
    add("range_ratio_10d", "(high - low) / its mean over 10 bars; 1 if all of them are 0", 9, range_ratio);
    add("rsi_14_lagged",
        "relative strength index at the previous bar: 100 · sum of rises / (sum of rises + sum of falls) of "
        "the close over 14 bars (plain sums, after Cutler); 50 if nothing moved",
        15, lagged_rsi);
    add("macd_crossover",
        "1 if the difference of the exponential means of the close over 12 and 26 bars is above its "
        "exponential mean over 9 bars, otherwise 0",
        macd_warm_up, [](const BarWindow& w, std::size_t i) { return w.macd_above_signal(i) ? 1.0 : 0.0; });
    table.back().info.look_back = FeatureInfo::all_earlier;
    add("atr_ratio", "100 · mean true range over 14 bars / close, in percent", 14, atr_ratio);
    add("close_to_vwap_12h_pct",
        "difference between the close and the volume-weighted mean close of 720 bars (the plain mean if "
        "there is no volume), in percent",
        vwap_bars - 1, close_to_vwap);
    add("vwap_12h_trend", "change of that mean over 60 bars, in percent", vwap_bars + vwap_trend_bars - 1,
        vwap_trend);
    add("close_above_vwap_12h", "1 if the close is above that mean, otherwise 0", vwap_bars - 1,
        [](const BarWindow& w, std::size_t i) {
            return w.close(i, i) > w.vwap(i, vwap_bars, i) ? 1.0 : 0.0;
        });
    add("vix_lagged", "last VIX published before the start of the previous bar, in VIX points", 1,
        [](const BarWindow& w, std::size_t i) { return w.vix(i - 1); });
    table.back().needs_vix = true;
    add("day_of_week", "day of the week of the session's date; 0 is Monday", 0,
        [](const BarWindow& w, std::size_t i) { return static_cast<double>(w.weekday(i)); });
    return table;
}

} // namespace

std::span<const MinuteFeature> minute_feature_table() {
    static const std::vector<MinuteFeature> table = make_minute_table();
    return table;
}

} // namespace rekindle::market
