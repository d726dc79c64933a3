#pragma once
/// Bars in columns: the representation of market data in all later stages.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market {

/// A price in ticks. Prices are never compared as floating-point numbers.
using Ticks = std::int32_t;

/// The smallest price step, in points (0.25 for ES).
struct TickSize {
    double points = 0.25;
    constexpr double to_points(double ticks) const noexcept { return ticks * points; }
    friend bool operator==(const TickSize&, const TickSize&) = default;
};

/// Read-only columns of equal length, in chronological order; bars with the same time are in contract order.
///   time      seconds since 1970-01-01T00:00:00Z of the END of the bar; with Clock::raw, the label as if
///             it were UTC; with BarMetadata::dates_only, midnight UTC of the date itself, for every clock
///   open …    prices in ticks, low <= open, close <= high; 0 and below occur only in series that cross 0
///   volume    >= 0, in steps of 10^-BarMetadata::volume_decimals traded units
///   contract  index into BarMetadata::contracts, which are ordered by their first bar, then by their last
///   vix       last value published before the bar began, NaN before the first; empty if there is no VIX
///   bid_volume, ask_volume   the parts of the volume that traded at the bid (sold into it) and at the ask
///             (bought from it), in the same steps; their sum may differ from the volume. Both are empty if
///             the files have none
struct BarColumns {
    std::span<const std::int64_t> time;
    std::span<const Ticks> open, high, low, close;
    std::span<const std::int64_t> volume;
    std::span<const std::uint16_t> contract;
    std::span<const float> vix;
    std::span<const std::int64_t> bid_volume, ask_volume;
    std::size_t size() const noexcept { return time.size(); }
    bool has_sides() const noexcept { return !bid_volume.empty(); }
    BarColumns subspan(std::size_t first, std::size_t count) const;
};

/// The meaning of the columns.
struct BarMetadata {
    TickSize tick;
    std::vector<std::string> contracts; ///< names, at least one ("" if the file has none)
    bool dates_only = false;            ///< one bar is one day (or more) and belongs to a date
    std::int64_t bar_seconds = 60;      ///< the usual time between bars
    bool utc_days = false;              ///< only with dates_only: the dates are UTC days
    /// Only with dates_only: the latest local time (minutes since midnight, in zone_of_dates()) at which a
    /// day ends according to the file's timestamps; above 1,440 it is on the next day; -1 if the timestamps
    /// do not tell.
    int day_end_minute = -1;
    /// Only with dates_only: a file is named after a future or a currency pair, whose trading day lasts
    /// longer than that of stocks.
    bool named_like_futures = false;
    /// 0 if prices have a tick. Otherwise `tick` is only the step in which they are stored, and this is the
    /// width of a profile's levels in such steps.
    Ticks profile_bin = 0;

    /// Volumes are stored in steps of 10^-volume_decimals traded units; 0 to 9, such as 8 for coins.
    int volume_decimals = 0;

    /// The number of such steps in one traded unit: 10^volume_decimals.
    std::int64_t volume_per_unit() const noexcept;
    bool has_tick() const noexcept { return profile_bin == 0; }
    /// The width of a profile's level in ticks.
    Ticks level_ticks() const noexcept { return has_tick() ? 1 : profile_bin; }
    /// The same in points.
    TickSize level() const noexcept;
};

/// In place of a contract's index: several contracts, as the original system mixed them in a session.
inline constexpr std::uint16_t mixed_contracts = 0xFFFF;

/// The contract's name: "mixed" for mixed_contracts, "" for bars without a contract. Always use this function
/// for names, because mixed_contracts is not an index.
std::string contract_name(const BarMetadata& metadata, std::uint16_t contract);

/// Bars and the memory that holds them (vectors or a mapped column file). Immutable, cheap to copy,
/// thread-safe.
class BarTable {
  public:
    BarTable(BarColumns columns, BarMetadata metadata, std::shared_ptr<const void> owner)
        : columns_(columns), metadata_(std::move(metadata)), owner_(std::move(owner)) {}
    const BarColumns& columns() const noexcept { return columns_; }
    const BarMetadata& metadata() const noexcept { return metadata_; }
    std::size_t size() const noexcept { return columns_.size(); }

  private:
    BarColumns columns_;
    BarMetadata metadata_;
    std::shared_ptr<const void> owner_;
};

/// Growable columns, for readers, the simulator and tests. vix is either empty or as long as the other
/// columns, and so are bid_volume and ask_volume.
struct BarBuffer {
    std::vector<std::int64_t> time;
    std::vector<Ticks> open, high, low, close;
    std::vector<std::int64_t> volume;
    std::vector<std::uint16_t> contract;
    std::vector<float> vix;
    std::vector<std::int64_t> bid_volume, ask_volume;

    std::size_t size() const noexcept { return time.size(); }
    BarColumns columns() const noexcept;
    /// Moves the columns into a table.
    static BarTable into_table(BarBuffer buffer, BarMetadata metadata);
};

} // namespace rekindle::market
