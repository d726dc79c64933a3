#include "reading/table_text.h"
#include "sessions/session_names.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/profile_output.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace rekindle::market {
namespace {

/// Number of decimals that multiples of the tick need, or -1 if ten are not enough.
int decimals_of(TickSize tick) noexcept {
    double scaled = tick.points;
    for (int decimals = 0; decimals <= 10; ++decimals, scaled *= 10)
        if (std::abs(scaled - std::round(scaled)) <= 1e-9 * scaled)
            return decimals;
    return -1;
}

std::string_view name(Weighting weighting) {
    switch (weighting) {
    case Weighting::uniform:
        return "uniform";
    case Weighting::close:
        return "close";
    case Weighting::ohlc:
        return "ohlc";
    }
    throw internal_error("unknown weighting");
}

std::string_view name(ValueAreaMethod method) {
    switch (method) {
    case ValueAreaMethod::greedy:
        return "greedy";
    case ValueAreaMethod::contiguous:
        return "contiguous";
    case ValueAreaMethod::two_row:
        return "two-row";
    }
    throw internal_error("unknown value area method");
}

std::string_view name(Compatibility compatibility) {
    switch (compatibility) {
    case Compatibility::none:
        return "none";
    case Compatibility::notebook:
        return "notebook";
    case Compatibility::cpu:
        return "cpu";
    case Compatibility::gpu:
        return "gpu";
    }
    throw internal_error("unknown compatibility");
}

std::string_view name(MigrationDirection direction) {
    return direction == MigrationDirection::up ? "up" : "down";
}

/// The price as the number given by its text.
double number(double ticks, TickSize tick) {
    return std::stod(price_text(ticks, tick));
}

nlohmann::ordered_json rules_json(const ProfileRules& rules) {
    nlohmann::ordered_json json;
    json["compatibility"] = name(rules.compatibility);
    json["value_area_share"] = rules.value_area_share;
    if (rules.compatibility == Compatibility::none) {
        json["weighting"] = name(rules.weighting);
        json["value_area"] = name(rules.value_area);
        json["tie"] = rules.tie == TieRule::lowest ? "lowest" : "nearest-middle";
    }
    return json;
}

nlohmann::ordered_json prices_json(const std::vector<Ticks>& prices, TickSize tick) {
    auto json = nlohmann::ordered_json::array();
    for (const Ticks price : prices)
        json.push_back(number(price, tick));
    return json;
}

/// ISO 8601; a raw label has no zone.
std::string time_text(std::int64_t time, Clock clock) {
    std::string text = format_civil(time);
    text[text.find(' ')] = 'T';
    return clock == Clock::raw ? text : text + "Z";
}

nlohmann::ordered_json session_json(const ProfileReport& report, std::size_t s) {
    const SessionSummary& session = report.sessions[s];
    const TickSize tick = report.metadata.tick;
    const auto points = [&](auto ticks) { return number(static_cast<double>(ticks), tick); };
    nlohmann::ordered_json json;
    json["date"] = format_date(session.date);
    json["contract"] = contract_name(report.metadata, session.contract);
    json["bars"] = session.bars;
    json["end_time"] = time_text(report.ends.of(session.end_time), report.clock);
    json["open"] = points(session.open);
    json["high"] = points(session.high);
    json["low"] = points(session.low);
    json["close"] = points(session.close);
    if (session.volume_per_unit == 1)
        json["total_volume"] = session.total_volume;
    else
        json["total_volume"] =
            static_cast<double>(session.total_volume) / static_cast<double>(session.volume_per_unit);
    json["vwap"] = tick.to_points(session.vwap);
    json["vpoc"] = points(session.point_of_control);
    json["value_area_low"] = points(session.value_area_low);
    json["value_area_high"] = points(session.value_area_high);
    json["value_area_width"] = points(session.value_area_high - session.value_area_low);
    json["high_volume_nodes"] = prices_json(report.nodes[s].high, tick);
    json["low_volume_nodes"] = prices_json(report.nodes[s].low, tick);
    const auto touch = report.first_touches[s];
    json["vpoc_first_touched"] = touch ? nlohmann::ordered_json(format_date(report.sessions[*touch].date))
                                       : nlohmann::ordered_json(nullptr);
    return json;
}

nlohmann::ordered_json report_json(const ProfileReport& report) {
    nlohmann::ordered_json json;
    using Json = nlohmann::ordered_json;
    const bool has_tick = report.metadata.has_tick();
    json["tick"] = has_tick ? Json(report.metadata.tick.points) : Json(nullptr);
    json["profile_bin"] = has_tick ? Json(nullptr) : Json(report.metadata.level().points);
    json["clock"] = clock_name(report.clock);
    json["rules"] = rules_json(report.rules);
    json["warnings"] = nlohmann::ordered_json::array();
    const auto without = std::count_if(report.sessions.begin(), report.sessions.end(),
                                       [](const auto& session) { return session.total_volume == 0; });
    if (std::string warning =
            missing_volume_warning(static_cast<std::size_t>(without), report.sessions.size());
        !warning.empty())
        json["warnings"].push_back(std::move(warning));
    json["sessions"] = nlohmann::ordered_json::array();
    for (std::size_t s = 0; s < report.sessions.size(); ++s)
        json["sessions"].push_back(session_json(report, s));
    json["trends"] = nlohmann::ordered_json::array();
    for (const MigrationTrend& trend : report.trends)
        json["trends"].push_back({{"start_date", format_date(report.sessions[trend.start].date)},
                                  {"end_date", format_date(report.sessions[trend.end].date)},
                                  {"direction", name(trend.direction)},
                                  {"consecutive_count", trend.moves}});
    return json;
}

/// The first column of files about several instruments.
std::string_view instrument_heading(std::span<const ProfileReport> reports) {
    return reports.empty() || reports.front().instrument.empty() ? "" : "instrument,";
}

std::string instrument_field(const ProfileReport& report) {
    std::string field;
    if (!report.instrument.empty()) {
        reading::append_quoted(report.instrument, field);
        field += ',';
    }
    return field;
}

} // namespace

std::string price_text(double ticks, TickSize tick) {
    const double points = tick.to_points(ticks);
    const int decimals = decimals_of(tick);
    std::string text =
        decimals < 0 ? shortest(points) : fmt::format("{:.{}f}", points, std::max(decimals, 1));
    if (text.find_first_not_of("-0123456789.") != std::string::npos)
        return text;
    if (text.find('.') == std::string::npos)
        return text + ".0";
    while (text.back() == '0' && text[text.size() - 2] != '.')
        text.pop_back();
    return text == "-0.0" ? "0.0" : text;
}

std::string render_profile_csv(std::span<const ProfileReport> reports) {
    std::string csv = std::string(instrument_heading(reports)) +
                      "date,vpoc,value_area_low,value_area_high,value_area_width,total_volume\n";
    for (const ProfileReport& report : reports) {
        const TickSize tick = report.metadata.tick;
        const auto volume_text = [&](std::int64_t volume) {
            std::string text;
            reading::append_fixed(volume, report.metadata.volume_decimals, text);
            return text;
        };
        for (const SessionSummary& session : report.sessions)
            csv += fmt::format("{}{},{},{},{},{},{}\n", instrument_field(report), format_date(session.date),
                               price_text(session.point_of_control, tick),
                               price_text(session.value_area_low, tick),
                               price_text(session.value_area_high, tick),
                               price_text(session.value_area_high - session.value_area_low, tick),
                               volume_text(session.total_volume));
    }
    return csv;
}

std::string render_trends_csv(std::span<const ProfileReport> reports) {
    std::string csv = std::string(instrument_heading(reports)) +
                      "start_date,end_date,direction,consecutive_count,vpoc_start,vpoc_end,vpoc_change\n";
    for (const ProfileReport& report : reports) {
        const TickSize tick = report.metadata.tick;
        for (const MigrationTrend& trend : report.trends) {
            const SessionSummary& start = report.sessions[trend.start];
            const SessionSummary& end = report.sessions[trend.end];
            csv +=
                fmt::format("{}{},{},{},{},{},{},{}\n", instrument_field(report), format_date(start.date),
                            format_date(end.date), name(trend.direction), trend.moves,
                            price_text(start.point_of_control, tick), price_text(end.point_of_control, tick),
                            price_text(end.point_of_control - start.point_of_control, tick));
        }
    }
    return csv;
}

std::string render_profile_json(std::span<const ProfileReport> reports) {
    nlohmann::ordered_json json;
    json["format"] = "rekindle-volume-profile";
    json["version"] = 1;
    if (reports.size() == 1 && reports.front().instrument.empty()) {
        json.update(report_json(reports.front()));
    } else {
        json["instruments"] = nlohmann::ordered_json::array();
        for (const ProfileReport& report : reports) {
            nlohmann::ordered_json entry{{"instrument", report.instrument}};
            entry.update(report_json(report));
            json["instruments"].push_back(std::move(entry));
        }
    }
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

ProfileReport make_profile_report(const BarTable& bars, std::span<const Session> sessions,
                                  const BarEnds& ends, Clock clock, const ProfileRules& rules,
                                  ThreadPool& pool, const NodeRules& node_rules) {
    ProfileReport report;
    report.ends = ends;
    report.metadata = bars.metadata();
    report.clock = clock;
    report.rules = rules;
    report.sessions = summarize_sessions(bars, sessions, rules, pool);
    report.nodes.resize(sessions.size());
    pool.for_each(sessions.size(), [&](std::size_t s) {
        VolumeNodes& nodes = report.nodes[s];
        nodes = session_profile(bars, sessions[s], rules).nodes(node_rules);
        for (auto* prices : {&nodes.high, &nodes.low})
            for (Ticks& price : *prices)
                price *= bars.metadata().level_ticks();
    });
    report.first_touches = first_touches(report.sessions);
    report.trends = migration_trends(report.sessions, report.metadata.tick);
    return report;
}

} // namespace rekindle::market
