#pragma once
/// Bars of a day or more belong to dates. Vendors stamp them with the date, with midnight of the exchange in
/// local time or in UTC, or with the beginning or the end of the trading day; this finds out which, from the
/// beginning of a file.

#include "reading/row_parser.h"

#include <rekindle/market/clock.h>
#include <rekindle/market/read_bars.h>

#include <cstdint>
#include <optional>
#include <string>

namespace rekindle::market::reading {

/// Maps the timestamps of one file to dates.
class DayStamps {
  public:
    /// Examines the first rows of a file; empty if its bars are shorter than a day. `times` describes those
    /// rows in the file's own format; `options` gives the clock and the exchange's zone. StampAt matters only
    /// if the timestamps are ambiguous.
    static std::optional<DayStamps> recognize(const RowParser::Times& times, const StampFormat& format,
                                              const ReadOptions& options);

    /// Whether each timestamp's date is the bar's date, because timestamps have no time of day or are all
    /// 00:00:00.
    bool dates_as_written() const noexcept { return dates_as_written_; }
    /// The date of a bar. `stamp` is an instant, or (raw labels, dates as written) the label.
    std::int32_t date(std::int64_t stamp) const noexcept {
        return date_of(zone_ ? zone_->to_local(stamp) : stamp) + days_later_;
    }
    /// Whether timestamps are midnights in UTC, so that a day may end at the next UTC midnight.
    bool utc_days() const noexcept { return utc_days_; }
    /// The latest local time, in minutes since midnight, at which a day ends according to the timestamps; -1
    /// if they do not tell.
    int end_minute() const noexcept { return end_minute_; }
    /// A sentence for the user about what was recognized; may be empty.
    const std::string& note() const noexcept { return note_; }

  private:
    int end_of_day(std::int64_t usual, std::int64_t latest, StampAt stamp) const;
    void judge_times(const RowParser::Times& times, const ReadOptions& options);

    bool dates_as_written_ = false;
    std::optional<ZoneClock> zone_; ///< of the dates; empty: dates are those of the label
    std::int32_t days_later_ = 0;   ///< days from the timestamp's date to the bar's date
    bool utc_days_ = false;
    int end_minute_ = -1;
    std::string note_;
};

} // namespace rekindle::market::reading
