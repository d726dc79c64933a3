#pragma once
/// Converts labels of a file to instants.

#include <rekindle/market/clock.h>
#include <rekindle/market/session.h>

#include <cstdint>
#include <optional>
#include <string>

namespace rekindle::market::reading {

/// Converts local labels of a zone to UTC. A label that occurs twice means the first instant, or the second
/// one if the first is not after the contract's previous bar, so that bars in order are converted correctly.
/// A label that is skipped when the clocks are set forward does not exist, except the very first one, which
/// stands for the instant of the change itself (02:00:00 where 02:00 becomes 03:00).
class LabelConverter {
  public:
    explicit LabelConverter(const std::string& zone) : zone_(ZoneClock::load(zone)) {}

    /// Empty for a label that does not exist. `previous` is the contract's previous instant.
    std::optional<std::int64_t> to_utc(std::int64_t label, std::int64_t previous) const noexcept {
        const std::int64_t first = zone_.to_utc(label);
        if (zone_.to_local(first) != label)
            return zone_.to_local(first - 1) == label - 1 ? std::optional(first) : std::nullopt;
        if (first > previous) [[likely]]
            return first;
        const std::int64_t second = label - zone_.offset_at(first + day_seconds);
        return second > previous && zone_.to_local(second) == label ? second : first;
    }
    const std::string& zone() const noexcept { return zone_.name(); }

  private:
    ZoneClock zone_;
};

} // namespace rekindle::market::reading
