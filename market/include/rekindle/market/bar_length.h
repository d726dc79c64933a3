#pragma once
/// Infers the length of bars from the distances between their timestamps.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rekindle::market {

/// The nominal length for a distance between neighboring bars: the distance itself below 18 hours; otherwise
/// whole days, where 5 to 9 days are a week, 26 to 35 a month (of 30 days) and 350 to 380 a year (of 365), so
/// that holidays, daylight saving and the lengths of months do not matter.
std::int64_t nominal_bar_length(std::int64_t seconds) noexcept;

/// "1 minute", "90 minutes", "4 hours", "1 day", "1 week", "1 month"; "an unknown length" for 0.
std::string bar_length_text(std::int64_t seconds);

/// How often each nominal length occurs as the distance between neighboring bars of one contract. Where bars
/// are missing, distances are longer than a bar; the last bar of a session can be shorter.
class BarSpacing {
  public:
    struct Distance {
        std::int64_t seconds = 0; ///< nominal
        std::uint64_t count = 0;
        friend bool operator==(const Distance&, const Distance&) = default;
    };
    BarSpacing() = default;
    /// Takes distances in seconds, nominal or not, and how often each occurs.
    explicit BarSpacing(std::span<const std::pair<std::int64_t, std::uint64_t>> counts);

    /// At most the 16 most frequent lengths; ties are ordered from short to long.
    const std::vector<Distance>& most_frequent() const noexcept { return distances_; }
    std::uint64_t total() const noexcept { return total_; }
    std::uint64_t count_of(std::int64_t seconds) const noexcept;
    friend bool operator==(const BarSpacing&, const BarSpacing&) = default;

  private:
    std::vector<Distance> distances_;
    std::uint64_t total_ = 0;
};

/// The usual length of bars. A value that is saved with a model.
struct BarLength {
    std::int64_t seconds = 0; ///< nominal; 0 when unknown
    double share = 0;         ///< fraction of the distances that equal it

    static BarLength of(const BarSpacing& spacing) noexcept;
    /// Whether the bars are time bars. Volume bars, range bars, and bars of a market that hardly trades have
    /// no usual length.
    bool is_regular() const noexcept { return seconds > 0 && share >= 0.2; }
    /// "1 minute"; "" unless it is regular.
    std::string text() const;
    friend bool operator==(const BarLength&, const BarLength&) = default;
};

enum class SameLength { no, unknown, yes };

/// Whether bars with this spacing have that length. Unknown when the length is irregular, or when there are
/// too few bars to tell a gap from longer bars.
SameLength has_length(const BarSpacing& bars, const BarLength& length) noexcept;

} // namespace rekindle::market
