#pragma once
/// Converts decimal text to exact integers. Prices become binary fractions only if they have too many digits
/// to be exact.

#include <rekindle/market/bars.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rekindle::market::reading {

/// mantissa × 10^-scale, scale in [0, 18], |mantissa| < 10^18. Digits beyond the 18th are dropped.
struct Decimal {
    std::int64_t mantissa = 0;
    int scale = 0;
    bool exact = true; ///< false when digits were dropped
    double value() const noexcept;
};

/// Reads "4527.25", "-1", ".5", "1.5e3", also with surrounding blanks. Empty for anything else, including nan
/// and inf.
std::optional<Decimal> parse_decimal(std::string_view text) noexcept;

/// A price as exports write it: parse_decimal, also with a currency sign in front ("$184.29", "-€5") and
/// commas between thousands ("4,800.00"). A single comma without a decimal point or a currency sign is
/// refused, because it may be a decimal comma.
std::optional<Decimal> parse_price(std::string_view text);

/// A volume: parse_decimal, also with commas between thousands ("1,234,567") and with K, M, B or T for
/// thousands to trillions ("1.2M"). A lone "-" is 0.
std::optional<Decimal> parse_volume(std::string_view text);

/// The same number with a decimal point: "4800.25" for "4.800,25".
std::string without_decimal_comma(std::string_view text);

/// Whether the text stands for a missing value: empty, NaN, null, NA, N/A (in any case).
bool is_missing_value(std::string_view text) noexcept;

enum class PriceStatus {
    exact,
    rounded,   ///< as close to a tick as a 32-bit float can be, or the 32-bit float of that tick itself
    noisy,     ///< within 2 % of a tick, but not that close
    off_tick,  ///< between two ticks
    too_large, ///< 2^31 ticks or more
};

/// The step in which prices are stored.
struct PriceGrid {
    TickSize step;
    bool is_tick = true; ///< false: prices have no tick and are rounded to the nearest step
    friend bool operator==(const PriceGrid&, const PriceGrid&) = default;
};

/// Converts prices to ticks.
class TickConverter {
  public:
    /// The fraction of a tick that counts as float noise, and twice the fraction of a price that a 32-bit
    /// float loses.
    static constexpr double noise = 0.02;
    static constexpr double float_precision = 0x1p-22;

    /// An internal error if !is_usable_tick(grid.step).
    explicit TickConverter(PriceGrid grid);
    explicit TickConverter(TickSize tick) : TickConverter(PriceGrid{tick}) {}
    /// A tick must have at most 9 significant digits and be in [1e-9, 1e9].
    static bool is_usable_tick(TickSize tick) noexcept;

    TickSize tick() const noexcept { return grid_.step; }
    bool has_tick() const noexcept { return grid_.is_tick; }
    /// Sets `ticks` if the result is exact, rounded or noisy. Without a tick, every price that is not too
    /// large is exact.
    PriceStatus convert(const Decimal& price, Ticks& ticks) const noexcept;
    /// The distance of a price from a tick, as a fraction of the tick.
    double distance(const Decimal& price, Ticks ticks) const noexcept;
    /// Whether the rounding of `price` to `ticks` is evidence for the tick. It is not if the tick is so fine
    /// that almost any price would be near one.
    bool is_evidence(const Decimal& price, Ticks ticks) const noexcept;

  private:
    PriceStatus convert_positive(const Decimal& price, Ticks& ticks) const noexcept;
    PriceStatus convert_nearest(const Decimal& price, Ticks& ticks) const noexcept;
    bool is_float_of(const Decimal& price, std::int64_t ticks) const noexcept;

    PriceGrid grid_;
    Decimal decimal_;
    std::array<double, 19> ticks_per_unit_{}; ///< by scale of the price
};

} // namespace rekindle::market::reading
