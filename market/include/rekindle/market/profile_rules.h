#pragma once
/// How a volume profile is computed and evaluated, and the limits of one.

#include <cstddef>
#include <cstdint>

namespace rekindle::market {

/// Weight of price p within a bar; |p - x| is in points.
enum class Weighting {
    uniform, ///< 1
    close,   ///< 1 + 1 / (1 + |p - close|)
    ohlc,    ///< 1 + sum of 1 / (1 + |p - x|) over x = open, high, low, close
};

/// Which prices hold the given share (70 %) of the volume. Every method starts at the point of control.
enum class ValueAreaMethod {
    greedy,     ///< takes levels in order of decreasing volume (ties by the tie rule); lowest and highest of
                ///< those taken
    contiguous, ///< takes the larger of the next level above and the next below; the upper one if they are
                ///< equal
    two_row,    ///< Dalton: takes the next two levels above or the next two below, whichever pair holds more
                ///< (one level if only one is left); the upper pair if they are equal
};

/// Which of several levels of equal volume comes first.
enum class TieRule {
    lowest,         ///< the lowest price
    nearest_middle, ///< nearest to the middle of the profile's range; the lower of two equally near levels
};

/// Reproduces one of the original system's three generations, see docs/volume-profile.md. Weighting, value
/// area and tie rule are then those of the generation, and sums use the original's order and type.
enum class Compatibility {
    none,
    notebook, ///< N: uniform, greedy, float64
    cpu,      ///< C: ohlc, smoothed, mean of the top levels, contiguous, float64
    gpu,      ///< G: close, greedy, float32: the generation that the original's training used
};

/// How a profile is computed and evaluated.
struct ProfileRules {
    Weighting weighting = Weighting::uniform;
    ValueAreaMethod value_area = ValueAreaMethod::contiguous;
    TieRule tie = TieRule::lowest;
    Compatibility compatibility = Compatibility::none;
    double value_area_share = 0.70; ///< (0, 1], rounded to six decimals except in a compatibility generation
    std::size_t gpu_chunk_bars =
        3500; ///< generation G sums sessions of more than 1000 bars in chunks of this size
    friend bool operator==(const ProfileRules&, const ProfileRules&) = default;
};

/// One unit of volume in the fixed-point representation.
inline constexpr int volume_fraction_bits = 16;
/// Largest volume that one profile can hold.
inline constexpr std::int64_t max_profile_volume = std::int64_t{1} << 46;
/// Largest number of price levels of one profile; more means that the tick does not fit the prices.
inline constexpr std::size_t max_profile_levels = std::size_t{1} << 24;

} // namespace rekindle::market
