#include "csv_table.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/table_file.h>
#include <rekindle/research/signals.h>

#include <algorithm>
#include <cmath>

namespace rekindle::research {

Positions parse_positions(std::string_view csv, const std::string& where) {
    Positions positions;
    read_csv_rows(csv, where, {"known_at", "position"}, [&](const CsvRow& row) {
        Decision decision{.known_at = row.instant("known_at"),
                          .target_position = row.number("position"),
                          .stop_loss = row.number("stop_loss"),
                          .take_profit = row.number("take_profit")};
        if (std::isnan(decision.target_position))
            throw row.error("the position is missing");
        const double limit = row.number("limit"), stop = row.number("stop");
        if (!std::isnan(limit) && !std::isnan(stop))
            throw row.error("a limit and a stop cannot be combined").expected("one of them");
        if (!std::isnan(limit) || !std::isnan(stop)) {
            decision.order = std::isnan(stop) ? OrderKind::limit : OrderKind::stop;
            decision.price = std::isnan(stop) ? limit : stop;
        }
        std::vector<Decision>& decisions = positions[std::string(row.text("instrument"))];
        if (!decisions.empty() && decisions.back().known_at >= decision.known_at)
            throw row.error("the row is not later than the one before").expected("chronological order");
        decisions.push_back(decision);
    });
    if (positions.empty())
        throw usage_error("the file has no positions").at(where);
    return positions;
}

Positions read_positions(const std::filesystem::path& path) {
    return parse_positions(market::table_text(path), path.string());
}

} // namespace rekindle::research
