#include <rekindle/market/migration.h>

#include <cmath>

namespace rekindle::market {

std::vector<MigrationTrend> migration_trends(std::span<const double> points_of_control,
                                             const MigrationRules& rules) {
    std::vector<MigrationTrend> trends;
    std::optional<MigrationTrend> run;
    const auto end_run = [&](std::size_t at) {
        if (run && run->moves >= rules.min_moves) {
            run->end = at;
            trends.push_back(*run);
        }
        run.reset();
    };
    for (std::size_t i = 1; i < points_of_control.size(); ++i) {
        const double move = points_of_control[i] - points_of_control[i - 1];
        if (!(std::abs(move) >= rules.min_move)) {
            end_run(i - 1);
            continue;
        }
        const auto direction = move > 0 ? MigrationDirection::up : MigrationDirection::down;
        if (run && run->direction != direction)
            end_run(i - 1);
        if (!run)
            run = MigrationTrend{.start = i - 1, .direction = direction};
        ++run->moves;
    }
    if (run)
        end_run(points_of_control.size() - 1);
    return trends;
}

std::vector<MigrationTrend> migration_trends(std::span<const SessionSummary> sessions, TickSize tick,
                                             const MigrationRules& rules, bool across_rolls) {
    std::vector<MigrationTrend> trends;
    for (std::size_t begin = 0, end = 0; begin < sessions.size(); begin = end) {
        std::vector<double> points; // of the sessions that are comparable with the first one
        for (; end < sessions.size() && sessions[end].stretch == sessions[begin].stretch; ++end) {
            const double offset = across_rolls ? static_cast<double>(sessions[end].roll_offset) : 0.0;
            points.push_back(tick.to_points(sessions[end].point_of_control - offset));
        }
        for (MigrationTrend trend : migration_trends(points, rules)) {
            trend.start += begin;
            trend.end += begin;
            trends.push_back(trend);
        }
    }
    return trends;
}

void NakedPointsOfControl::add(std::size_t session, std::int64_t price) {
    by_price_.emplace(price, session);
}

std::vector<NakedPointOfControl> NakedPointsOfControl::touch(std::int64_t low, std::int64_t high) {
    std::vector<NakedPointOfControl> touched;
    if (low > high)
        return touched;
    const auto begin = by_price_.lower_bound(low);
    const auto end = by_price_.upper_bound(high);
    for (auto at = begin; at != end; ++at)
        touched.push_back({at->second, at->first});
    by_price_.erase(begin, end);
    return touched;
}

std::optional<NakedPointOfControl> NakedPointsOfControl::nearest_above(std::int64_t price) const {
    const auto at = by_price_.lower_bound(price);
    if (at == by_price_.end())
        return std::nullopt;
    return NakedPointOfControl{at->second, at->first};
}

std::optional<NakedPointOfControl> NakedPointsOfControl::nearest_below(std::int64_t price) const {
    auto at = by_price_.upper_bound(price);
    if (at == by_price_.begin())
        return std::nullopt;
    --at;
    return NakedPointOfControl{at->second, at->first};
}

std::vector<NakedPointOfControl> NakedPointsOfControl::all() const {
    std::vector<NakedPointOfControl> points;
    points.reserve(by_price_.size());
    for (const auto& [price, session] : by_price_)
        points.push_back({session, price});
    return points;
}

std::vector<std::optional<std::size_t>> first_touches(std::span<const SessionSummary> sessions) {
    std::vector<std::optional<std::size_t>> touches(sessions.size());
    NakedPointsOfControl naked;
    for (std::size_t s = 0; s < sessions.size(); ++s) {
        const SessionSummary& session = sessions[s];
        if (s > 0 && sessions[s - 1].stretch != session.stretch)
            naked = {}; // it is unknown whether a later session traded at these prices
        for (const auto& point :
             naked.touch(session.low - session.roll_offset, session.high - session.roll_offset))
            touches[point.session] = s;
        naked.add(s, std::llround(session.point_of_control) - session.roll_offset);
    }
    return touches;
}

} // namespace rekindle::market
