#include "inspect/words.h"
#include "sessions/session_names.h"

#include <rekindle/market/inspect.h>

#include <nlohmann/json.hpp>

namespace rekindle::market {
namespace {

using Json = nlohmann::ordered_json;

Json optional_number(const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json moment(const ReportTimes& times, std::int64_t stamp) {
    return {{"seconds", stamp}, {"text", times.text(stamp)}};
}

Json end_moment(const ReportTimes& times, std::int64_t instant) {
    return {{"seconds", instant}, {"text", times.instant_text(instant)}};
}

Json reading_json(const InspectReport& report, const ReportTimes& times) {
    const ReadReport& reading = report.reading;
    Json json{{"format", reading.format}};
    json["files"] = Json::array();
    for (const auto& file : reading.files)
        json["files"].push_back(file.string());
    json["bytes"] = reading.bytes;
    json["data_hash_xxh3_128"] = reading.data_hash.hex();
    json["columns"] = Json::array();
    for (const RecognizedColumn& column : reading.columns)
        json["columns"].push_back({{"position", column.position},
                                   {"header", column.header},
                                   {"used_as", column.name.empty() ? Json(nullptr) : Json(column.name)}});
    json["rows"] = reading.rows;
    json["rows_rejected"] = reading.rejected;
    json["prices_rounded"] = reading.prices_rounded;
    json["bar_seconds"] = report.metadata.bar_seconds;
    json["dates_only"] = report.metadata.dates_only;
    const bool has_tick = report.metadata.has_tick();
    json["tick_points"] = has_tick ? Json(reading.tick.points) : Json(nullptr);
    json["tick_inferred"] = has_tick && reading.tick_inferred;
    json["profile_bin_points"] = has_tick ? Json(nullptr) : Json(reading.profile_bin);
    const auto units = static_cast<double>(report.metadata.volume_per_unit());
    json["bid_volume"] = report.sides ? Json(report.sides->first / units) : Json(nullptr);
    json["ask_volume"] = report.sides ? Json(report.sides->second / units) : Json(nullptr);
    json["vix"] = reading.vix_source;
    json["first_bar"] = moment(times, reading.first_time);
    json["last_bar"] = moment(times, reading.last_time);
    json["contracts"] = Json::array();
    for (const ContractRows& contract : reading.contracts)
        json["contracts"].push_back({{"name", contract.name}, {"bars", contract.rows}});
    return json;
}

Json instrument_json(const Instrument& instrument) {
    const auto hours = [](int begin, int end) { return format_minute(begin) + "-" + format_minute(end); };
    return {
        {"symbol", instrument.symbol},
        {"name", instrument.name},
        {"tick_points", instrument.tick > 0 ? Json(instrument.tick) : Json(nullptr)},
        {"point_value", instrument.point_value},
        {"currency", instrument.currency},
        {"zone", instrument.zone},
        {"day_start", format_minute(instrument.day_start)},
        {"regular_hours", instrument.regular
                              ? Json(hours(instrument.regular->open, instrument.regular->close))
                              : Json(nullptr)},
        {"halt", instrument.halt ? Json(hours(instrument.halt->begin, instrument.halt->end)) : Json(nullptr)},
        {"weekends", instrument.weekends},
        {"negative_prices", instrument.negative_prices},
        {"holidays", instrument.holidays}};
}

Json sessions_json(const InspectReport& report) {
    Json json = Json::array();
    for (const SessionCount& kind : report.sessions) {
        Json entry{{"hours", hours_name(kind.hours)}, {"length", length_name(kind.length)}};
        if (!kind.refused.empty()) {
            entry["refused"] = kind.refused;
        } else {
            entry["sessions"] = kind.sessions;
            entry["median_bars"] = kind.median_bars;
            entry["first"] = kind.sessions ? Json(format_date(kind.first)) : Json(nullptr);
            entry["last"] = kind.sessions ? Json(format_date(kind.last)) : Json(nullptr);
            entry["sessions_lacking"] = lacking_sessions(report, kind);
        }
        json.push_back(std::move(entry));
    }
    return json;
}

Json rolls_json(const InspectReport& report, const ReportTimes& times) {
    Json json = Json::array();
    for (const Roll& roll : report.plan.rolls)
        json.push_back(
            {{"date", format_date(roll.date)},
             {"from", report.metadata.contracts[roll.from]},
             {"to", report.metadata.contracts[roll.to]},
             {"gap_ticks", roll.gap_ticks},
             {"gap_points", report.metadata.tick.to_points(static_cast<double>(roll.gap_ticks))},
             {"gap_known_at", end_moment(times, report.ends.of(roll.gap_known_at))},
             {"gap_distance_seconds", roll.gap_distance < 0 ? Json(nullptr) : Json(roll.gap_distance)},
             {"reason", roll.reason}});
    return json;
}

Json splits_json(const InspectReport& report) {
    Json json = Json::array();
    for (const SuspectedSplit& split : report.suspected_splits)
        json.push_back({{"date", format_date(split.date)},
                        {"new_shares", split.new_shares},
                        {"old_shares", split.old_shares},
                        {"close_before", report.metadata.tick.to_points(split.close_before)},
                        {"open_after", report.metadata.tick.to_points(split.open_after)}});
    return json;
}

Json clock_json(const ClockSuggestion& clock) {
    Json json{{"verdict", verdict_name(clock.verdict)},
              {"read_as", clock.read_as},
              {"message", clock.message},
              {"stamp_message", clock.stamp_message.empty() ? Json(nullptr) : Json(clock.stamp_message)},
              {"hours_message", clock.hours_message.empty() ? Json(nullptr) : Json(clock.hours_message)},
              {"day_message", clock.day_message.empty() ? Json(nullptr) : Json(clock.day_message)}};
    json["candidates"] = Json::array();
    for (const ClockCandidate& candidate : clock.candidates)
        json["candidates"].push_back(
            {{"zone", candidate.zone},
             {"score", candidate.score},
             {"open_volume_ratio", optional_number(candidate.open_jump)},
             {"close_volume_ratio", optional_number(candidate.close_drop)},
             {"halt_share", candidate.halt_share},
             {"weekend_distance_minutes", optional_number(candidate.weekend_distance)}});
    json["seasons"] = Json::array();
    for (const SeasonProfile& season : clock.seasons) {
        Json peaks = Json::array();
        for (const int minute : season.peak_minutes)
            peaks.push_back(format_minute(minute));
        json["seasons"].push_back(
            {{"exchange_offset", season.season},
             {"bars_by_hour", season.bars},
             {"volume_by_hour", season.volume},
             {"peak_minutes", std::move(peaks)},
             {"quiet_hour",
              season.quiet_hour ? Json(format_minute(*season.quiet_hour * 60)) : Json(nullptr)}});
    }
    return json;
}

} // namespace

Json to_json(const InspectReport& report) {
    const ReportTimes times(report);
    Json json = reading_json(report, times);
    json["clock"] = clock_name(report.reading.stamps.clock);
    json["stamp_zone"] = report.reading.stamps.zone;
    json["zone"] = report.rules.zone;
    json["instrument"] = report.instrument ? instrument_json(*report.instrument) : Json(nullptr);
    json["sessions"] = sessions_json(report);
    json["sessions_needed"] = report.sessions_needed;
    json["rolls"] = rolls_json(report, times);
    json["roll_error"] = report.roll_error.empty() ? Json(nullptr) : Json(report.roll_error);
    json["regular_pauses"] = Json::array();
    for (const RegularPause& pause : report.regular_pauses)
        json["regular_pauses"].push_back({{"begin", format_minute(pause.begin_minute)},
                                          {"end", format_minute(pause.end_minute)},
                                          {"zone", times.local_zone()},
                                          {"days", pause.days}});
    json["hole_seconds"] = report.hole_seconds;
    json["holes"] = report.holes;
    json["largest_holes"] = Json::array();
    for (const Hole& hole : report.largest_holes)
        json["largest_holes"].push_back(
            {{"after", moment(times, hole.after)}, {"before", moment(times, hole.before)}});
    json["missing_days"] = report.missing_day_count ? Json(*report.missing_day_count) : Json(nullptr);
    json["first_missing_days"] = Json::array();
    for (const std::int32_t day : report.missing_days)
        json["first_missing_days"].push_back(format_date(day));
    json["clock_suggestion"] = clock_json(report.clock);
    json["suspected_splits"] = splits_json(report);
    json["warnings"] = report.warnings;
    json["notes"] = report.reading.notes;
    for (const std::string& note : report.plan.notes)
        json["notes"].push_back(note);
    return json;
}

} // namespace rekindle::market
