#pragma once
/// The VIX as it was known: joined to each bar is the last value published before the bar began.

#include "reading/rejects.h"

#include <rekindle/market/bars.h>
#include <rekindle/market/clock.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

namespace rekindle::market::reading {

/// One value for each date (days since 1970). A later value of the same date takes the place of an earlier
/// one.
class DailyValues {
  public:
    DailyValues() = default;
    DailyValues(DailyValues&&) = default;
    DailyValues& operator=(DailyValues&&) = default;

    void add(std::int32_t date, float value) {
        if (date != last_date_ || values_.empty()) {
            last_ = &values_[date];
            last_date_ = date;
        }
        *last_ = value;
    }
    bool empty() const noexcept { return values_.empty(); }
    std::size_t size() const noexcept { return values_.size(); }
    const std::map<std::int32_t, float>& values() const noexcept { return values_; }

  private:
    std::map<std::int32_t, float> values_;
    float* last_ = nullptr; ///< nodes of a map stay where they are
    std::int32_t last_date_ = 0;
};

/// Values in order of the instant from which they are known.
class PublishedSeries {
  public:
    /// Closes of a date are known from 16:15 New York time on that date. For bars that carry dates alone,
    /// they are known from the next date on: the bar of a date may have begun before.
    static PublishedSeries of_daily_closes(const DailyValues& closes, bool dates_only);

    /// The last value known at the instant at which a bar began, NaN before the first. Instants must not
    /// decrease from call to call.
    float known_at(std::int64_t instant) noexcept;

  private:
    struct Value {
        std::int64_t published;
        float value;
    };
    std::vector<Value> values_;
    std::size_t next_ = 0;
};

/// Reads a VIX file: a header with a date column and one named close or vix (CBOE: DATE,OPEN,HIGH,LOW,CLOSE).
/// A date whose value is empty or a point is a holiday. Bad rows go to `rejects`. Throws Error (usage) when
/// it is no such file or holds no values.
DailyValues read_vix_file(const std::filesystem::path& path, RejectLog& rejects);

} // namespace rekindle::market::reading
