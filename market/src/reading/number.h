#pragma once
/// Converts decimal text to exact integers. Prices become binary fractions only if they have too many digits
/// to be exact.

#include <rekindle/market/bars.h>

#include <array>
#include <cstdint>
#include <optional>
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

/// Whether the text stands for a missing value: empty, NaN, null, NA, N/A (in any case).
bool is_missing_value(std::string_view text) noexcept;

enum class PriceStatus {
    exact,
    rounded,   ///< as close to a tick as a 32-bit float can be, or the 32-bit float of that tick itself
    noisy,     ///< within 2 % of a tick, but not that close
    off_tick,  ///< between two ticks
    too_large, ///< 2^31 ticks or more
};

/// Converts prices to ticks.
class TickConverter {
  public:
    /// The fraction of a tick that counts as float noise, and twice the fraction of a price that a 32-bit
    /// float loses.
    static constexpr double noise = 0.02;
    static constexpr double float_precision = 0x1p-22;

    /// An internal error if !is_usable_tick(tick).
    explicit TickConverter(TickSize tick);
    /// A tick must have at most 9 significant digits and be in [1e-9, 1e9].
    static bool is_usable_tick(TickSize tick) noexcept;

    TickSize tick() const noexcept { return tick_; }
    /// Sets `ticks` if the result is exact, rounded or noisy. Precondition: price.mantissa > 0.
    PriceStatus convert(const Decimal& price, Ticks& ticks) const noexcept;

  private:
    bool is_float_of(const Decimal& price, std::int64_t ticks) const noexcept;

    TickSize tick_;
    Decimal decimal_;
    std::array<double, 19> ticks_per_unit_{}; ///< by scale of the price
};

} // namespace rekindle::market::reading
