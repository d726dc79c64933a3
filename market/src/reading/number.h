#pragma once
/// Decimal text to exact integers. Prices never pass through binary fractions unless a decimal cannot be
/// exact.

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

/// "4527.25", "-1", ".5", "1.5e3", blanks around it allowed. Nothing for all else, nan and inf included.
std::optional<Decimal> parse_decimal(std::string_view text) noexcept;

/// Whether the text means "no value here": empty, NaN, null, NA (any case).
bool is_missing_value(std::string_view text) noexcept;

enum class PriceStatus {
    exact,
    rounded,   ///< as near to a whole tick as a 32-bit float can be, or that tick's 32-bit float itself
    noisy,     ///< within 2 % of a tick, but farther than that
    off_tick,  ///< between two ticks
    too_large, ///< 2^31 ticks or more
};

/// Prices to whole ticks.
class TickConverter {
  public:
    /// Part of a tick that counts as float noise, and part of a price that a 32-bit float loses (twice over).
    static constexpr double noise = 0.02;
    static constexpr double float_precision = 0x1p-22;

    /// Precondition: is_usable_tick(tick).
    explicit TickConverter(TickSize tick);
    /// A tick has at most 9 significant digits and lies in [1e-9, 1e9].
    static bool is_usable_tick(TickSize tick) noexcept;

    TickSize tick() const noexcept { return tick_; }
    /// Sets `ticks` for exact, rounded and noisy. Precondition: price.mantissa > 0.
    PriceStatus convert(const Decimal& price, Ticks& ticks) const noexcept;

  private:
    bool is_float_of(const Decimal& price, std::int64_t ticks) const noexcept;

    TickSize tick_;
    Decimal decimal_;
    std::array<double, 19> ticks_per_unit_{}; ///< by scale of the price
};

} // namespace rekindle::market::reading
