#include "profile/levels.h"
#include "profile/original.h"
#include "profile/wide_integer.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/volume_profile.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace rekindle::market {
namespace {

/// Number of sessions per job of the thread pool.
constexpr std::size_t sessions_per_job = 16;

Weighting weighting_of(const ProfileRules& rules) noexcept {
    switch (rules.compatibility) {
    case Compatibility::none:
        return rules.weighting;
    case Compatibility::notebook:
        return Weighting::uniform;
    case Compatibility::cpu:
        return Weighting::ohlc;
    case Compatibility::gpu:
        return Weighting::close;
    }
    return rules.weighting;
}

/// A summary without the profile's figures.
SessionSummary prices_and_volume(const BarTable& table, const Session& session) {
    const BarColumns bars = table.columns().subspan(session.first, session.count);
    SessionSummary summary{.date = session.date,
                           .first_bar = session.first,
                           .contract = session.contract,
                           .roll_offset = session.roll_offset,
                           .stretch = session.stretch,
                           .vix = std::numeric_limits<double>::quiet_NaN()};
    profile::Int128 close_times_volume = 0;
    profile::Int128 volume = 0, bid = 0, ask = 0;
    for (std::size_t i = 0; i < bars.size(); ++i) {
        if (session.contract != mixed_contracts && bars.contract[i] != session.contract)
            continue;
        if (summary.bars++ == 0) {
            summary.open = bars.open[i];
            summary.high = bars.high[i];
            summary.low = bars.low[i];
        }
        summary.high = std::max<std::int64_t>(summary.high, bars.high[i]);
        summary.low = std::min<std::int64_t>(summary.low, bars.low[i]);
        summary.close = bars.close[i];
        summary.end_time = bars.time[i];
        close_times_volume += static_cast<profile::Int128>(bars.close[i]) * bars.volume[i];
        volume += bars.volume[i];
        if (bars.has_sides()) {
            bid += bars.bid_volume[i];
            ask += bars.ask_volume[i];
        }
        if (!bars.vix.empty())
            summary.vix = static_cast<double>(bars.vix[i]);
    }
    if (summary.bars == 0)
        throw internal_error("session " + format_date(session.date) + " has no bar of its contract");
    if (std::max({volume, bid, ask}) > max_profile_volume)
        throw usage_error("too much volume in one session")
            .expected("at most " + with_thousands(max_profile_volume));
    summary.total_volume = static_cast<std::int64_t>(volume);
    if (bars.has_sides()) {
        summary.bid_volume = static_cast<std::int64_t>(bid);
        summary.ask_volume = static_cast<std::int64_t>(ask);
    }
    summary.volume_per_unit = table.metadata().volume_per_unit();
    summary.vwap = volume == 0 ? static_cast<double>(summary.close)
                               : static_cast<double>(close_times_volume) / static_cast<double>(volume);
    return summary;
}

/// The bars of a session with prices in levels of the profile: ticks, or bins where prices have no tick.
class LeveledBars {
  public:
    LeveledBars(const BarTable& table, const Session& session)
        : columns_(table.columns().subspan(session.first, session.count)) {
        if (table.metadata().has_tick())
            return;
        const Ticks bin = table.metadata().profile_bin;
        columns_.open = in_bins(columns_.open, bin, prices_[0]);
        columns_.high = in_bins(columns_.high, bin, prices_[1]);
        columns_.low = in_bins(columns_.low, bin, prices_[2]);
        columns_.close = in_bins(columns_.close, bin, prices_[3]);
    }
    const BarColumns& columns() const noexcept { return columns_; }

  private:
    static std::span<const Ticks> in_bins(std::span<const Ticks> prices, Ticks bin,
                                          std::vector<Ticks>& bins) {
        bins.reserve(prices.size());
        for (const Ticks price : prices)
            bins.push_back(static_cast<Ticks>(std::lround(static_cast<double>(price) / bin)));
        return bins;
    }

    std::array<std::vector<Ticks>, 4> prices_;
    BarColumns columns_;
};

ProfileFigures in_ticks(ProfileFigures levels, const BarMetadata& metadata) {
    const auto level = static_cast<double>(metadata.level_ticks());
    return {levels.point_of_control * level, levels.value_area_low * level, levels.value_area_high * level};
}

ProfileFigures figures_by_price(const SessionSummary& summary) {
    return {static_cast<double>(summary.close), static_cast<double>(summary.low),
            static_cast<double>(summary.high)};
}

/// Whether the session follows the rule for a series without volume.
bool without_volume(const BarTable& table, const SessionSummary& summary, const ProfileRules& rules) {
    if (summary.total_volume != 0)
        return false;
    switch (rules.compatibility) {
    case Compatibility::none:
    case Compatibility::cpu:
        return true;
    case Compatibility::notebook:
        return false;
    case Compatibility::gpu: {
        const auto& names = table.metadata().contracts;
        return summary.contract < names.size() && names[summary.contract].find("VIX") != std::string::npos;
    }
    }
    return true;
}

ProfileFigures figures_of(const BarTable& table, const Session& session, const SessionSummary& summary,
                          const ProfileRules& rules) {
    if (without_volume(table, summary, rules))
        return figures_by_price(summary);
    if (rules.compatibility != Compatibility::none)
        return in_ticks(profile::original_figures(LeveledBars(table, session).columns(), session.contract,
                                                  table.metadata().level(), rules),
                        table.metadata());
    const VolumeProfile made = session_profile(table, session, rules);
    // Bars with more than 65,536 levels can have too little volume for one unit per level.
    if (std::ranges::all_of(made.volumes(), [](std::int64_t volume) { return volume == 0; }))
        return figures_by_price(summary);
    const ValueArea area = made.value_area(rules.value_area, rules.tie, rules.value_area_share);
    return in_ticks({static_cast<double>(made.point_of_control(rules.tie)), static_cast<double>(area.low),
                     static_cast<double>(area.high)},
                    table.metadata());
}

SessionSummary summarize(const BarTable& table, const Session& session, const ProfileRules& rules) {
    try {
        SessionSummary summary = prices_and_volume(table, session);
        const ProfileFigures figures = figures_of(table, session, summary, rules);
        summary.point_of_control = figures.point_of_control;
        summary.value_area_low = figures.value_area_low;
        summary.value_area_high = figures.value_area_high;
        return summary;
    } catch (Error& error) {
        if (error.where().empty())
            error.at("session " + format_date(session.date));
        throw;
    }
}

} // namespace

VolumeProfile session_profile(const BarTable& bars, const Session& session, const ProfileRules& rules) {
    VolumeProfile profile(bars.metadata().level(), weighting_of(rules));
    profile.add(LeveledBars(bars, session).columns(), session.contract);
    return profile;
}

ProfileFigures session_figures(const BarTable& bars, const Session& session, const ProfileRules& rules) {
    return figures_of(bars, session, prices_and_volume(bars, session), rules);
}

std::string missing_volume_warning(std::size_t sessions_without_volume, std::size_t sessions) {
    if (sessions_without_volume == 0 || sessions_without_volume * 20 < sessions)
        return "";
    const std::string where = sessions_without_volume == sessions
                                  ? "No bar has volume, so"
                                  : "In " +
                                        with_thousands(static_cast<std::int64_t>(sessions_without_volume)) +
                                        " of " + counted(sessions, "session") + " no bar has volume; there";
    return where + " the point of control and the value area come from prices alone and mean nothing.";
}

std::vector<SessionSummary> summarize_sessions(const BarTable& bars, std::span<const Session> sessions,
                                               const ProfileRules& rules, ThreadPool& pool) {
    profile::share_in_millionths(rules.value_area_share, "value area share");
    std::vector<SessionSummary> summaries(sessions.size());
    pool.for_each((sessions.size() + sessions_per_job - 1) / sessions_per_job, [&](std::size_t job) {
        const std::size_t end = std::min((job + 1) * sessions_per_job, sessions.size());
        for (std::size_t s = job * sessions_per_job; s < end; ++s)
            summaries[s] = summarize(bars, sessions[s], rules);
    });
    return summaries;
}

} // namespace rekindle::market
