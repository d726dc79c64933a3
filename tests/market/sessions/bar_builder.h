#pragma once
/// Builds small tables of bars for tests of sessions.

#include <rekindle/market/bars.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/session_plan.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace rekindle::market::fixtures {

class BarBuilder {
  public:
    explicit BarBuilder(std::vector<std::string> contracts = {""}) {
        metadata_.contracts = std::move(contracts);
    }

    BarBuilder& add(std::int64_t time, Ticks price = 100, std::int64_t volume = 1,
                    std::uint16_t contract = 0) {
        rows_.push_back({time, contract, price, volume});
        return *this;
    }
    BarBuilder& dates_only() {
        metadata_.dates_only = true;
        metadata_.bar_seconds = day_seconds;
        return *this;
    }
    BarBuilder& bar_seconds(std::int64_t seconds) {
        metadata_.bar_seconds = seconds;
        return *this;
    }
    std::size_t size() const { return rows_.size(); }

    /// The first `count` bars in order of time and contract.
    BarTable table(std::size_t count = SIZE_MAX) const {
        std::vector<Row> rows = rows_;
        std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
            return std::tie(a.time, a.contract) < std::tie(b.time, b.contract);
        });
        rows.resize(std::min(count, rows.size()));
        BarBuffer buffer;
        for (const Row& row : rows) {
            buffer.time.push_back(row.time);
            for (auto* prices : {&buffer.open, &buffer.high, &buffer.low, &buffer.close})
                prices->push_back(row.price);
            buffer.volume.push_back(row.volume);
            buffer.contract.push_back(row.contract);
        }
        return BarBuffer::into_table(std::move(buffer), metadata_);
    }

  private:
    struct Row {
        std::int64_t time;
        std::uint16_t contract;
        Ticks price;
        std::int64_t volume;
    };
    std::vector<Row> rows_;
    BarMetadata metadata_;
};

/// The instant of a local time in New York.
inline std::int64_t new_york(std::int32_t date, int minute) {
    static const ZoneClock clock = ZoneClock::load("America/New_York");
    return clock.to_utc(std::int64_t{date} * day_seconds + minute * 60);
}

/// The sessions by the embedded calendar, with rolls by volume.
inline SessionPlan volume_plan(const BarTable& bars, const SessionRules& rules = {}) {
    return plan_sessions(bars, rules, HolidayCalendar::embedded(), RollMethod::volume);
}

} // namespace rekindle::market::fixtures
