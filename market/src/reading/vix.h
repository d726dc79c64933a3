#pragma once
/// The VIX as known at the time: each bar gets the last value published before the bar began.

#include "reading/rejects.h"

#include <rekindle/market/bars.h>
#include <rekindle/market/clock.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

namespace rekindle::market::reading {

/// One value per date (days since 1970). A later value for the same date replaces an earlier one.
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
    float* last_ = nullptr; ///< stays valid, because map nodes do not move
    std::int32_t last_date_ = 0;
};

/// Values ordered by the instant from which they are known.
class PublishedSeries {
  public:
    /// The close of a date is known from 16:15 New York time on that date. For bars with dates only, it is
    /// known from the next date on, because the bar of a date may have begun earlier.
    static PublishedSeries of_daily_closes(const DailyValues& closes, bool dates_only);

    /// The last value known at the instant at which a bar began, NaN before the first value. Instants must
    /// not decrease between calls.
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
/// A date whose value is empty or a period is a holiday. Bad rows are added to `rejects`. Throws Error
/// (usage) if the file is not a VIX file or has no values.
DailyValues read_vix_file(const std::filesystem::path& path, RejectLog& rejects);

} // namespace rekindle::market::reading
