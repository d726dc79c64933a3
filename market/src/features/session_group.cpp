/// The 54 columns of the original system, with the same names, order and formulas.

#include "features/session_table.h"
#include "features/window_statistics.h"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace rekindle::market {
namespace {

using SessionValue = double (*)(const SessionHistory&, std::size_t, std::size_t);

/// Points of control of the last p sessions up to t, seen from t.
WindowStatistics point_of_control_window(const SessionHistory& h, std::size_t t, std::size_t p) {
    return window_statistics(p, [&](std::size_t i) { return h.point_of_control(t + 1 - p + i, t); });
}

double mean_value_area_width(const SessionHistory& h, std::size_t t, std::size_t p) {
    return window_statistics(p, [&](std::size_t i) { return h.value_area_width(t + 1 - p + i); }).mean;
}

void append_figures_of_one_session(std::vector<SessionFeature>& table) {
    const auto append = [&](const char* name, const char* formula, bool needs_volume, SessionValue value) {
        table.push_back({{name, "session", formula, 0, 0, needs_volume}, 0, value});
    };
    const auto add = [&](const char* name, const char* formula, SessionValue value) {
        append(name, formula, false, value);
    };
    const auto add_of_volume = [&](const char* name, const char* formula, SessionValue value) {
        append(name, formula, true, value);
    };
    add_of_volume(
        "vpoc", "point of control, the price with the most volume, in points",
        [](const SessionHistory& h, std::size_t t, std::size_t) { return h.point_of_control(t, t); });
    add_of_volume("total_volume", "volume of the session, in units",
                  [](const SessionHistory& h, std::size_t t, std::size_t) { return h.volume(t); });
    add_of_volume("value_area_low", "lowest price of the value area, in points",
                  [](const SessionHistory& h, std::size_t t, std::size_t) {
                      return h.tick().to_points(h[t].value_area_low);
                  });
    add_of_volume("value_area_high", "highest price of the value area, in points",
                  [](const SessionHistory& h, std::size_t t, std::size_t) {
                      return h.tick().to_points(h[t].value_area_high);
                  });
    add_of_volume("value_area_width", "value_area_high - value_area_low, in points",
                  [](const SessionHistory& h, std::size_t t, std::size_t) { return h.value_area_width(t); });
    add("price_range", "session_high - session_low, at least 0.0001, in points",
        [](const SessionHistory& h, std::size_t t, std::size_t) { return h.price_range(t); });
    add("range_pct", "100 · price_range / session_open, in percent",
        [](const SessionHistory& h, std::size_t t, std::size_t) { return h.range_percent(t); });
    add("close_change_pct", "100 · (session_close - session_open) / session_open, in percent",
        [](const SessionHistory& h, std::size_t t, std::size_t) { return h.close_change_percent(t); });
    add("session_high", "highest price, in points",
        [](const SessionHistory& h, std::size_t t, std::size_t) { return h.high(t, t); });
    add("session_low", "lowest price, in points",
        [](const SessionHistory& h, std::size_t t, std::size_t) { return h.low(t, t); });
    add("session_open", "first price, in points",
        [](const SessionHistory& h, std::size_t t, std::size_t) { return h.open(t, t); });
    add("session_close", "last price, in points",
        [](const SessionHistory& h, std::size_t t, std::size_t) { return h.close(t, t); });
    add_of_volume(
        "vwap",
        "sum of close · volume over the bars / sum of volume, or the last price if there is no volume, in "
        "points",
        [](const SessionHistory& h, std::size_t t, std::size_t) { return h.tick().to_points(h[t].vwap); });
    add_of_volume("close_to_vwap_pct", "100 · (session_close - vwap) / vwap, in percent",
                  [](const SessionHistory& h, std::size_t t, std::size_t) {
                      const double vwap = h.tick().to_points(h[t].vwap);
                      return vwap > 0 ? 100 * (h.close(t, t) - vwap) / vwap
                                      : std::numeric_limits<double>::quiet_NaN();
                  });
}

void append_period(std::vector<SessionFeature>& table, std::size_t period) {
    // A change over p sessions reads p earlier sessions; a window of p sessions reads p - 1.
    const auto append = [&](const char* name, std::size_t look_back, const char* formula, bool needs_volume,
                            SessionValue value) {
        const int sessions = static_cast<int>(look_back);
        table.push_back({{fmt::format(fmt::runtime(name), period), "session",
                          fmt::format(fmt::runtime(formula), period), sessions, sessions, needs_volume},
                         period,
                         value});
    };
    const auto add = [&](const char* name, std::size_t look_back, const char* formula, SessionValue value) {
        append(name, look_back, formula, false, value);
    };
    const auto add_of_volume = [&](const char* name, std::size_t look_back, const char* formula,
                                   SessionValue value) { append(name, look_back, formula, true, value); };
    const std::size_t change = period;
    const std::size_t window = period - 1;
    add("price_mom_{}d", change, "change of session_close over {} sessions, in percent",
        [](const SessionHistory& h, std::size_t t, std::size_t p) {
            return percent_change(h.close(t, t), h.close(t - p, t));
        });
    add("volatility_{}d", window, "sample std of close_change_pct over {} sessions, in percent",
        [](const SessionHistory& h, std::size_t t, std::size_t p) {
            return window_statistics(p, [&](std::size_t i) { return h.close_change_percent(t + 1 - p + i); })
                .sample_std;
        });
    add_of_volume("volume_trend_{}d", change, "change of total_volume over {} sessions, in percent",
                  [](const SessionHistory& h, std::size_t t, std::size_t p) {
                      return percent_change(h.volume(t), h.volume(t - p));
                  });
    add_of_volume("vpoc_change_{}d", change, "vpoc - vpoc {} sessions ago, in points",
                  [](const SessionHistory& h, std::size_t t, std::size_t p) {
                      return h.point_of_control(t, t) - h.point_of_control(t - p, t);
                  });
    add_of_volume("vpoc_pct_change_{}d", change, "change of vpoc over {} sessions, in percent",
                  [](const SessionHistory& h, std::size_t t, std::size_t p) {
                      return percent_change(h.point_of_control(t, t), h.point_of_control(t - p, t));
                  });
    add("range_change_{}d", change, "change of range_pct over {} sessions, in percent",
        [](const SessionHistory& h, std::size_t t, std::size_t p) {
            return percent_change(h.range_percent(t), h.range_percent(t - p));
        });
    add_of_volume("va_width_{}d_ma", window, "mean of value_area_width over {} sessions, in points",
                  mean_value_area_width);
    add_of_volume("va_width_change_{}d", window, "value_area_width / its mean over {} sessions, a ratio",
                  [](const SessionHistory& h, std::size_t t, std::size_t p) {
                      return h.value_area_width(t) / mean_value_area_width(h, t, p);
                  });
    add_of_volume("vpoc_std_{}d", window, "sample std of vpoc over {} sessions, in points",
                  [](const SessionHistory& h, std::size_t t, std::size_t p) {
                      return point_of_control_window(h, t, p).sample_std;
                  });
    add_of_volume("vpoc_zscore_{}d", window,
                  "(vpoc - its mean over {} sessions) / vpoc_std over them, a z-score",
                  [](const SessionHistory& h, std::size_t t, std::size_t p) {
                      const WindowStatistics window_of_p = point_of_control_window(h, t, p);
                      return (h.point_of_control(t, t) - window_of_p.mean) / window_of_p.sample_std;
                  });
}

} // namespace

void append_session_group(std::vector<SessionFeature>& table) {
    append_figures_of_one_session(table);
    for (const std::size_t period : periods)
        append_period(table, period);
}

} // namespace rekindle::market
