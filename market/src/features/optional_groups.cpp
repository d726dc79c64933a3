/// Groups that are off by default: VIX, returns, overnight gap, calendar, naked points of control, delta.

#include "features/quarterly_expiry.h"
#include "features/session_table.h"
#include "features/window_statistics.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace rekindle::market {
namespace {

constexpr double days_per_year = 365.25;

/// Sum of the squared log returns of the last p sessions up to t.
double sum_of_squared_returns(const SessionHistory& h, std::size_t t, std::size_t p) {
    double sum = 0;
    for (std::size_t s = t + 1 - p; s <= t; ++s)
        sum += h.log_return(s) * h.log_return(s);
    return sum;
}

/// In percent per year; years are calendar years, regardless of the length of a session.
double annual_volatility(const SessionHistory& h, std::size_t t, std::size_t p) {
    const double years = (h[t].date - h[t - p].date) / days_per_year;
    return 100 * std::sqrt(sum_of_squared_returns(h, t, p) / years);
}

double log_return_percent(const SessionHistory& h, std::size_t t, std::size_t p) {
    return 100 * std::log(h.close(t, t) / h.close(t - p, t));
}

double vix_change(const SessionHistory& h, std::size_t t, std::size_t p) {
    return h[t].vix - h[t - p].vix;
}

/// A distance in points, as a percentage of the close; at most 10, which is also the value if there is none.
double naked_distance_percent(const SessionHistory& h, std::size_t t, std::optional<double> points) {
    constexpr double farthest = 10;
    if (h.close(t, t) <= 0)
        return std::numeric_limits<double>::quiet_NaN();
    return points ? std::min(farthest, 100 * *points / h.close(t, t)) : farthest;
}

/// Adds the rows of one group.
class GroupWriter {
  public:
    GroupWriter(std::vector<SessionFeature>& table, const char* group) : table_(table), group_(group) {}

    /// The column needs more than `period` sessions; 0 means no requirement.
    void add(std::string name, std::string formula, std::size_t look_back, std::size_t period,
             double (*value)(const SessionHistory&, std::size_t, std::size_t)) {
        const int sessions = static_cast<int>(look_back);
        table_.push_back({{std::move(name), group_, std::move(formula), sessions, sessions}, period, value});
    }

  private:
    std::vector<SessionFeature>& table_;
    const char* group_;
};

} // namespace

void append_vix_group(std::vector<SessionFeature>& table) {
    GroupWriter group(table, "vix");
    group.add("vix_level", "last VIX published before the end of the session, in VIX points", 0, 0,
              [](const SessionHistory& h, std::size_t t, std::size_t) { return h[t].vix; });
    group.add("vix_change_1d", "change of vix_level over 1 session, in VIX points", 1, 1, vix_change);
    group.add("vix_change_5d", "change of vix_level over 5 sessions, in VIX points", 5, 5, vix_change);
    group.add(
        "vix_zscore_20d", "(vix_level - its mean over 20 sessions) / its sample std over them, a z-score", 19,
        20, [](const SessionHistory& h, std::size_t t, std::size_t p) {
            const auto window = window_statistics(p, [&](std::size_t i) { return h[t + 1 - p + i].vix; });
            return (h[t].vix - window.mean) / window.sample_std;
        });
    group.add(
        "vix_minus_realized_20d",
        "vix_level - 100 · square root of (sum of squared log returns of the close over 20 sessions / years "
        "between their dates), in percent per year",
        20, 20, [](const SessionHistory& h, std::size_t t, std::size_t p) {
            return h[t].vix - annual_volatility(h, t, p);
        });
}

void append_returns_group(std::vector<SessionFeature>& table) {
    GroupWriter group(table, "returns");
    group.add("log_return_1d", "100 · ln(session_close / session_close 1 session ago), in percent", 1, 1,
              log_return_percent);
    for (const std::size_t p : periods)
        group.add(fmt::format("log_return_{}d", p),
                  fmt::format("100 · ln(session_close / session_close {} sessions ago), in percent", p), p, p,
                  log_return_percent);
    for (const std::size_t p : periods)
        group.add(fmt::format("realized_vol_{}d", p),
                  fmt::format("100 · square root of the mean squared log return of the close over {} "
                              "sessions, in percent per session",
                              p),
                  p, p, [](const SessionHistory& h, std::size_t t, std::size_t n) {
                      return 100 * std::sqrt(sum_of_squared_returns(h, t, n) / static_cast<double>(n));
                  });
}

void append_gap_group(std::vector<SessionFeature>& table) {
    GroupWriter group(table, "gap");
    group.add("overnight_gap_pct", "change from the previous session_close to session_open, in percent", 1, 1,
              [](const SessionHistory& h, std::size_t t, std::size_t) {
                  return percent_change(h.open(t, t), h.close(t - 1, t));
              });
    group.add("overnight_gap_to_range",
              "(session_open - previous session_close) / previous price_range, a ratio", 1, 1,
              [](const SessionHistory& h, std::size_t t, std::size_t) {
                  return (h.open(t, t) - h.close(t - 1, t)) / h.price_range(t - 1);
              });
    group.add("overnight_gap_filled", "1 if the session traded at the previous session_close, otherwise 0", 1,
              1, [](const SessionHistory& h, std::size_t t, std::size_t) {
                  const double before = h.close(t - 1, t);
                  return h.low(t, t) <= before && before <= h.high(t, t) ? 1.0 : 0.0;
              });
}

void append_calendar_group(std::vector<SessionFeature>& table) {
    GroupWriter group(table, "calendar");
    group.add("session_weekday", "day of the week of the session's date; 0 is Monday", 0, 0,
              [](const SessionHistory& h, std::size_t t, std::size_t) {
                  return static_cast<double>(weekday_from_monday(h[t].date));
              });
    group.add("session_month", "month of the session's date, 1 to 12", 0, 0,
              [](const SessionHistory& h, std::size_t t, std::size_t) {
                  return static_cast<double>(month_of(h[t].date));
              });
    group.add("days_to_expiry",
              "days from the session's date to the next third Friday of March, June, September or December; "
              "0 on that day",
              0, 0, [](const SessionHistory& h, std::size_t t, std::size_t) {
                  return static_cast<double>(days_to_quarterly_expiry(h[t].date));
              });
    group.add("expiry_week", "1 from Monday to Friday in the week of that Friday, otherwise 0", 0, 0,
              [](const SessionHistory& h, std::size_t t, std::size_t) {
                  return days_to_quarterly_expiry(h[t].date) < 5 ? 1.0 : 0.0;
              });
}

void append_naked_poc_group(std::vector<SessionFeature>& table) {
    GroupWriter group(table, "naked-poc");
    const auto add = [&](const char* name, const char* side, auto value) {
        group.add(
            name,
            fmt::format("distance from session_close {} to the nearest vpoc of an earlier session at which "
                        "no session has traded since, in percent, at most 10; 10 if there is none",
                        side),
            0, 0, value);
        table.back().info.look_back = FeatureInfo::all_earlier;
        table.back().info.needs_volume = true;
    };
    add("naked_poc_above_pct", "up", [](const SessionHistory& h, std::size_t t, std::size_t) {
        return naked_distance_percent(h, t, h.naked_above(t));
    });
    add("naked_poc_below_pct", "down", [](const SessionHistory& h, std::size_t t, std::size_t) {
        return naked_distance_percent(h, t, h.naked_below(t));
    });
}

void append_delta_group(std::vector<SessionFeature>& table) {
    GroupWriter group(table, "delta");
    const std::size_t first = table.size();
    group.add("delta_pct", "100 · (volume at the ask - volume at the bid) / their sum, in percent", 0, 0,
              [](const SessionHistory& h, std::size_t t, std::size_t) { return h.delta_percent(t); });
    group.add("delta_change_1d", "change of delta_pct over 1 session, in percentage points", 1, 1,
              [](const SessionHistory& h, std::size_t t, std::size_t p) {
                  return h.delta_percent(t) - h.delta_percent(t - p);
              });
    for (const std::size_t p : {std::size_t{5}, std::size_t{20}})
        group.add(fmt::format("delta_pct_{}d_ma", p),
                  fmt::format("mean of delta_pct over {}, in percent",
                              counted(static_cast<std::int64_t>(p), "session")),
                  p - 1, p, [](const SessionHistory& h, std::size_t t, std::size_t n) {
                      return window_statistics(n,
                                               [&](std::size_t i) { return h.delta_percent(t + 1 - n + i); })
                          .mean;
                  });
    group.add("delta_divergence",
              "1 if more volume traded at the ask although the session closed below its open, or more at the "
              "bid although it closed above; otherwise 0",
              0, 0, [](const SessionHistory& h, std::size_t t, std::size_t) {
                  const double delta = h.delta_percent(t);
                  return std::isnan(delta) ? delta : delta * (h.close(t, t) - h.open(t, t)) < 0 ? 1.0 : 0.0;
              });
    for (std::size_t i = first; i < table.size(); ++i)
        table[i].info.needs_volume = true;
}

} // namespace rekindle::market
