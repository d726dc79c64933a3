#include <rekindle/base/text.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/clock_suggestion.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace rekindle::market {
namespace {

constexpr int day_minutes = 24 * 60;
constexpr std::size_t min_days = 5;
constexpr std::int64_t weekend_pause = 20 * 3600;
constexpr double clear_margin = 2.0; ///< points of score

/// Index m: bars that end in (m, m + 1] minutes after midnight.
struct MinuteHistogram {
    std::vector<std::int64_t> bars = std::vector<std::int64_t>(day_minutes);
    std::vector<std::int64_t> volume = std::vector<std::int64_t>(day_minutes);
};

/// The days of the file on which every candidate has the same offset.
struct OffsetGroup {
    MinuteHistogram minutes;
    std::vector<int> before_weekend; ///< minute of the day at which the last bar before a long pause ends
    std::vector<int> after_weekend;  ///< the same for the first bar after it
};

int wrapped(int minute) {
    return ((minute % day_minutes) + day_minutes) % day_minutes;
}

/// Sum over the minutes (begin, begin + length], which may extend past midnight.
std::int64_t sum_of(const std::vector<std::int64_t>& histogram, int begin, int length) {
    std::int64_t sum = 0;
    for (int i = 0; i < length; ++i)
        sum += histogram[static_cast<std::size_t>(wrapped(begin + i))];
    return sum;
}

/// log2 of the ratio, clamped to ±2; 0 for 0 / 0.
double clamped_log2(double ratio) {
    return std::isnan(ratio) ? 0 : std::clamp(std::log2(ratio), -2.0, 2.0);
}

double ratio_of(std::int64_t numerator, std::int64_t denominator) {
    return static_cast<double>(numerator) / static_cast<double>(denominator);
}

std::vector<std::string> candidate_zones(const SessionRules& rules, const StampRules& stamps) {
    std::vector<std::string> zones{"UTC",           "America/New_York", "America/Chicago", "Europe/London",
                                   "Europe/Berlin", "Europe/Athens",    "Asia/Tokyo"};
    for (const std::string& zone : {rules.zone, stamps.zone})
        if (std::find(zones.begin(), zones.end(), zone) == zones.end())
            zones.push_back(zone);
    return zones;
}

class ClockJudge {
  public:
    ClockJudge(const BarTable& bars, const SessionRules& rules, const StampRules& stamps)
        : bars_(bars), rules_(rules), exchange_(ZoneClock::load(rules.zone)),
          names_(candidate_zones(rules, stamps)) {
        if (stamps.clock == Clock::exchange)
            local_ = ZoneClock::load(stamps.zone);
        for (const std::string& name : names_)
            zones_.push_back(ZoneClock::load(name));
        collect();
    }

    std::size_t days() const noexcept { return days_; }
    std::vector<ClockCandidate> candidates() const;
    std::vector<SeasonProfile> seasons() const;
    /// The minute of the exchange's local time at which most weeks begin, if there is one and the timestamps
    /// follow the zone.
    std::optional<int> usual_week_begin(const std::string& zone) const;
    bool can_judge_hours() const { return rules_.rth_known && bars_.metadata().bar_seconds <= 900; }
    /// Describes evidence that the trading day starts at another time, assuming that the timestamps are in
    /// `zone`; "" if there is none.
    std::string judge_day_start(const std::string& zone) const;
    /// Evidence against the regular hours, if the timestamps follow the zone; "" if there is none.
    std::string judge_hours(const std::string& zone) const;

  private:
    /// The timestamp as written in the file.
    std::int64_t label(std::size_t i) const {
        const std::int64_t time = bars_.columns().time[i];
        return local_ ? local_->to_local(time) : time;
    }
    void collect();
    ClockCandidate judge(std::size_t candidate) const;
    /// The histogram in the exchange's local time, if the timestamps follow the candidate.
    MinuteHistogram local_minutes(std::size_t candidate) const;
    std::size_t candidate_named(const std::string& zone) const {
        return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), zone) - names_.begin());
    }

    const BarTable& bars_;
    const SessionRules& rules_;
    ZoneClock exchange_;
    std::optional<ZoneClock> local_; ///< the zone of the timestamps, if they were read as local time
    std::vector<std::string> names_;
    std::vector<ZoneClock> zones_;
    /// Keys: what each candidate adds to a timestamp, in minutes, to get the exchange's local time.
    std::map<std::vector<int>, OffsetGroup> groups_;
    std::size_t days_ = 0;
};

void ClockJudge::collect() {
    const BarColumns& columns = bars_.columns();
    OffsetGroup* group = nullptr;
    std::int64_t midnight = 0, before = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::int64_t stamp = label(i) - 1; // a bar that ends at midnight belongs to the previous day
        const bool after_weekend = group && stamp - before > weekend_pause;
        if (after_weekend)
            group->before_weekend.push_back(static_cast<int>((before - midnight) / 60) + 1);
        if (!group || stamp < midnight || stamp >= midnight + day_seconds) {
            midnight = std::int64_t{date_of(stamp)} * day_seconds;
            const std::int64_t noon = midnight + day_seconds / 2;
            std::vector<int> offsets;
            for (const ZoneClock& zone : zones_)
                offsets.push_back(static_cast<int>((exchange_.to_local(zone.to_utc(noon)) - noon) / 60));
            group = &groups_[std::move(offsets)];
            ++days_;
        }
        const auto minute = static_cast<std::size_t>((stamp - midnight) / 60);
        if (after_weekend)
            group->after_weekend.push_back(static_cast<int>(minute) + 1);
        ++group->minutes.bars[minute];
        group->minutes.volume[minute] += columns.volume[i];
        before = stamp;
    }
}

MinuteHistogram ClockJudge::local_minutes(std::size_t candidate) const {
    MinuteHistogram local;
    for (const auto& [offsets, group] : groups_)
        for (int minute = 0; minute < day_minutes; ++minute) {
            const auto from = static_cast<std::size_t>(minute);
            const auto to = static_cast<std::size_t>(wrapped(minute + offsets[candidate]));
            local.bars[to] += group.minutes.bars[from];
            local.volume[to] += group.minutes.volume[from];
        }
    return local;
}

std::string ClockJudge::judge_hours(const std::string& zone) const {
    constexpr double rises = 2; // minimum rise at an open, and by how much another time must exceed it
    const MinuteHistogram local = local_minutes(candidate_named(zone));
    const auto jump_at = [&](int minute) {
        return ratio_of(sum_of(local.volume, minute, 30), sum_of(local.volume, minute - 30, 30));
    };
    const double own = jump_at(rules_.rth_open);
    if (!can_judge_hours() || std::isnan(own))
        return "";
    // Only half hours with at least the usual volume, so that the first trades of a day do not count.
    const std::int64_t usual = sum_of(local.volume, 0, day_minutes) / 48;
    int best = -1;
    for (int minute = 0; minute < day_minutes; minute += 15)
        if (sum_of(local.volume, minute, 30) >= usual && sum_of(local.volume, minute - 30, 30) > 0 &&
            (best < 0 || jump_at(minute) > jump_at(best)))
            best = minute;
    if (best < 0 || jump_at(best) < rises || jump_at(best) < rises * own)
        return "";
    return "Volume does not rise at " + format_minute(rules_.rth_open) + " " + rules_.zone +
           ", the open of the regular hours, but at " + format_minute(best) +
           ": the hours seem to be in the local time of another zone. Check --regular-hours and --zone.";
}

std::string ClockJudge::judge_day_start(const std::string& zone) const {
    constexpr int hours_a_day = 24;
    constexpr int least_active = 20; // a market with longer pauses has no single daily halt
    const MinuteHistogram local = local_minutes(candidate_named(zone));
    const std::int64_t all = sum_of(local.bars, 0, day_minutes);
    const auto is_quiet = [&](int minute) { return sum_of(local.bars, minute, 60) * hours_a_day * 20 < all; };
    std::vector<int> quiet;
    for (int hour = 0; hour < hours_a_day; ++hour)
        if (is_quiet(hour * 60))
            quiet.push_back(hour);
    const bool one_halt = !quiet.empty() && hours_a_day - quiet.size() >= least_active &&
                          static_cast<std::size_t>(quiet.back() - quiet.front()) + 1 == quiet.size();
    if (!one_halt || is_quiet(rules_.day_start - 60) || is_quiet(rules_.day_start))
        return "";
    const std::string end = format_minute(wrapped((quiet.back() + 1) * 60));
    return "There is hardly a bar from " + format_minute(quiet.front() * 60) + " to " + end + " " +
           rules_.zone + ", but the trading day begins at " + format_minute(rules_.day_start) +
           ", so sessions are cut during trading. Use --day-start " + end + ".";
}

ClockCandidate ClockJudge::judge(std::size_t candidate) const {
    const MinuteHistogram local = local_minutes(candidate);
    std::vector<double> distances;
    for (const auto& entry : groups_) {
        const int offset = entry.first[candidate];
        for (const int minute : entry.second.before_weekend) {
            const int past = wrapped(minute + offset - rules_.day_start + day_minutes / 2) - day_minutes / 2;
            distances.push_back(past > 0 ? past : std::max(0, -60 - past));
        }
    }
    ClockCandidate result;
    result.zone = names_[candidate];
    const std::int64_t all_bars = sum_of(local.bars, 0, day_minutes);
    result.halt_share = 24 * ratio_of(sum_of(local.bars, rules_.day_start - 60, 60), all_bars);
    const bool halt_known = !rules_.day_start_assumed;
    if (halt_known)
        result.score = 2 * (1 - std::min(result.halt_share, 1.0));
    if (can_judge_hours() && sum_of(local.volume, 0, day_minutes) > 0) {
        const double jump = ratio_of(sum_of(local.volume, rules_.rth_open, 30),
                                     sum_of(local.volume, rules_.rth_open - 30, 30));
        const double drop = ratio_of(sum_of(local.volume, rules_.rth_close - 15, 15),
                                     sum_of(local.volume, rules_.rth_close + 15, 15));
        result.score += clamped_log2(jump) + clamped_log2(drop);
        if (std::isfinite(jump))
            result.open_jump = jump;
        if (std::isfinite(drop))
            result.close_drop = drop;
    }
    if (!distances.empty()) {
        const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
        std::nth_element(distances.begin(), middle, distances.end());
        result.weekend_distance = *middle;
        if (halt_known)
            result.score -= std::min(*middle / 60, 4.0);
    }
    return result;
}

std::vector<ClockCandidate> ClockJudge::candidates() const {
    std::vector<ClockCandidate> all;
    for (std::size_t i = 0; i < zones_.size(); ++i)
        all.push_back(judge(i));
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
    return all;
}

std::optional<int> ClockJudge::usual_week_begin(const std::string& zone) const {
    const std::size_t candidate = candidate_named(zone);
    std::map<int, std::size_t> weeks_of;
    std::size_t weeks = 0;
    for (const auto& [offsets, group] : groups_)
        for (const int minute : group.after_weekend) {
            ++weeks_of[wrapped(minute + offsets[candidate])];
            ++weeks;
        }
    for (const auto& [minute, count] : weeks_of)
        if (count >= 3 && count * 2 > weeks)
            return minute;
    return std::nullopt;
}

std::string offset_name(int minutes) {
    const int magnitude = std::abs(minutes);
    return std::string(minutes < 0 ? "UTC-" : "UTC+") + format_minute(magnitude);
}

std::vector<int> two_peaks(const std::vector<std::int64_t>& volume) {
    std::vector<int> peaks;
    while (peaks.size() < 2) {
        int best = -1;
        for (int minute = 0; minute < day_minutes; ++minute) {
            const bool near = !peaks.empty() && std::abs(minute - peaks[0]) < 60;
            if (!near && volume[static_cast<std::size_t>(minute)] > 0 &&
                (best < 0 ||
                 volume[static_cast<std::size_t>(minute)] > volume[static_cast<std::size_t>(best)]))
                best = minute;
        }
        if (best < 0)
            break;
        peaks.push_back(best);
    }
    for (int& peak : peaks)
        ++peak; // the minute at which the bar ends
    std::sort(peaks.begin(), peaks.end());
    return peaks;
}

std::vector<SeasonProfile> ClockJudge::seasons() const {
    std::map<int, MinuteHistogram> by_offset; // the first candidate is UTC, so it adds the exchange's offset
    for (const auto& entry : groups_) {
        MinuteHistogram& season = by_offset[entry.first[0]];
        const MinuteHistogram& minutes = entry.second.minutes;
        for (std::size_t minute = 0; minute < day_minutes; ++minute) {
            season.bars[minute] += minutes.bars[minute];
            season.volume[minute] += minutes.volume[minute];
        }
    }
    std::vector<SeasonProfile> result;
    for (const auto& entry : by_offset) {
        const MinuteHistogram& minutes = entry.second;
        SeasonProfile season;
        season.season = offset_name(entry.first);
        for (int hour = 0; hour < 24; ++hour) {
            season.bars[static_cast<std::size_t>(hour)] = sum_of(minutes.bars, hour * 60, 60);
            season.volume[static_cast<std::size_t>(hour)] = sum_of(minutes.volume, hour * 60, 60);
        }
        season.peak_minutes = two_peaks(minutes.volume);
        const std::int64_t all = sum_of(minutes.bars, 0, day_minutes);
        const auto quiet = std::min_element(season.bars.begin(), season.bars.end());
        const auto active = std::count_if(season.bars.begin(), season.bars.end(),
                                          [&](std::int64_t bars) { return bars * 24 * 20 >= all; });
        if (*quiet * 24 * 20 < all && active >= 20)
            season.quiet_hour = static_cast<int>(quiet - season.bars.begin());
        result.push_back(std::move(season));
    }
    return result;
}

std::string describe(const SeasonProfile& season) {
    std::string text;
    if (!season.peak_minutes.empty())
        text = "volume peaks at " + format_minute(season.peak_minutes[0]) +
               (season.peak_minutes.size() > 1 ? " and " + format_minute(season.peak_minutes[1]) : "");
    if (season.quiet_hour)
        text += std::string(text.empty() ? "there is" : ", with") + " hardly a bar from " +
                format_minute(*season.quiet_hour * 60) + " to " + format_minute(*season.quiet_hour * 60 + 60);
    return text;
}

std::string evidence(const ClockSuggestion& suggestion, const SessionRules& rules) {
    std::string text;
    for (const SeasonProfile& season : suggestion.seasons)
        if (const std::string found = describe(season); !found.empty())
            text += (text.empty() ? "By the timestamps' clock, " : "; ") + found + " while " + rules.zone +
                    " is at " + season.season;
    return text.empty() ? "" : text + ". ";
}

/// The zones that are as likely as the best one.
std::string most_likely(const std::vector<ClockCandidate>& candidates) {
    std::string text;
    for (const ClockCandidate& candidate : candidates)
        if (candidate.score >= candidates.front().score - 0.5)
            text += (text.empty() ? "" : " or ") + candidate.zone;
    return text;
}

/// Checks whether the week begins with a bar that ends at the open: for short bars on the half hour, for long
/// ones at the start of the day. Currencies open at 17:00 New York time, an hour before the default.
std::string judge_stamps(int week_begin, const BarMetadata& metadata, const SessionRules& rules) {
    const bool currencies = !rules.day_start_assumed && week_begin == rules.day_start - 60;
    const bool at_opening =
        metadata.bar_seconds < 1800 ? week_begin % 30 == 0 : week_begin == rules.day_start || currencies;
    if (!at_opening)
        return "";
    return "Most weeks begin with a bar at " + format_minute(week_begin) + " " + rules.zone +
           ", when the market opens: the timestamps seem to mark the START of bars. Use --stamp start.";
}

std::string advice(const std::string& zone, const SessionRules& rules, const StampRules& stamps) {
    if (zone == "UTC")
        return "Use --clock utc.";
    if (zone == rules.zone && stamps.zone == rules.zone)
        return "Use --clock exchange (with --zone " + rules.zone + ").";
    return "Use --clock exchange --stamp-zone " + zone + " (with --zone " + rules.zone + ").";
}

} // namespace

ClockSuggestion suggest_clock(const BarTable& bars, const SessionRules& rules, const StampRules& stamps) {
    ClockSuggestion result;
    result.read_as = stamps.clock == Clock::exchange ? stamps.zone : "UTC";
    if (bars.metadata().dates_only) {
        result.message = "Each bar is a day or more and belongs to a date, so the clock of the timestamps "
                         "does not matter.";
        return result;
    }
    const ClockJudge judge(bars, rules, stamps);
    if (judge.days() < min_days) {
        result.message = "The clock of the timestamps cannot be determined from bars of " +
                         counted(judge.days(), "date") + "; " + std::to_string(min_days) + " are needed.";
        return result;
    }
    result.candidates = judge.candidates();
    result.seasons = judge.seasons();
    const std::vector<ClockCandidate>& all = result.candidates;
    const auto used =
        std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.zone == result.read_as; });
    const double best = all.front().score, middle = all[all.size() / 2].score;
    if (const auto begin = judge.usual_week_begin(all.front().zone); begin && stamps.at == StampAt::bar_end)
        result.stamp_message = judge_stamps(*begin, bars.metadata(), rules);
    result.hours_message = judge.judge_hours(result.read_as);
    result.day_message = judge.judge_day_start(result.read_as);
    const std::string found = evidence(result, rules);
    if (rules.day_start_assumed && !judge.can_judge_hours()) {
        result.message = found + "The hours of exchanges in " + rules.zone +
                         " are not known, so the clock cannot be checked against them.";
    } else if (best - middle < clear_margin) {
        result.message = found + "No clock fits this clearly better than the others.";
    } else if (best - used->score < clear_margin) {
        result.verdict = ClockSuggestion::Verdict::agrees;
        result.message = found + "That fits timestamps in " + result.read_as + ", as they are read.";
    } else {
        result.verdict = ClockSuggestion::Verdict::contradicts;
        result.hours_message.clear(); // the clock must be settled first
        result.day_message.clear();
        result.message = found + "That fits timestamps in " + most_likely(all) + "; they are read as " +
                         result.read_as +
                         (stamps.clock == Clock::raw ? " labels, as the original system does. " : ". ") +
                         advice(all.front().zone, rules, stamps);
    }
    return result;
}

} // namespace rekindle::market
