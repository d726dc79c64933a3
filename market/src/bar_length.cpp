#include <rekindle/base/text.h>
#include <rekindle/market/bar_length.h>
#include <rekindle/market/clock.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

namespace rekindle::market {

namespace {

constexpr std::size_t kept_distances = 16;
constexpr std::int64_t shortest_day = 18 * 3600;

/// A range of days that means one nominal length.
struct Nominal {
    std::int64_t from, to, days;
    const char* name;
};
constexpr std::array nominals{Nominal{5, 9, 7, "week"}, Nominal{26, 35, 30, "month"},
                              Nominal{350, 380, 365, "year"}};

} // namespace

std::int64_t nominal_bar_length(std::int64_t seconds) noexcept {
    if (seconds < shortest_day)
        return seconds;
    const std::int64_t days = (seconds + day_seconds / 2) / day_seconds;
    for (const Nominal& nominal : nominals)
        if (nominal.from <= days && days <= nominal.to)
            return nominal.days * day_seconds;
    return days * day_seconds;
}

std::string bar_length_text(std::int64_t seconds) {
    if (seconds <= 0)
        return "an unknown length";
    for (const Nominal& nominal : nominals)
        if (seconds == nominal.days * day_seconds)
            return fmt::format("1 {}", nominal.name);
    for (const auto& [unit, name] :
         {std::pair<std::int64_t, const char*>{day_seconds, "day"}, {3600, "hour"}, {60, "minute"}})
        if (seconds % unit == 0)
            return counted(seconds / unit, name);
    return counted(seconds, "second");
}

BarSpacing::BarSpacing(std::span<const std::pair<std::int64_t, std::uint64_t>> counts) {
    std::map<std::int64_t, std::uint64_t> nominal;
    for (const auto& [seconds, count] : counts) {
        nominal[nominal_bar_length(seconds)] += count;
        total_ += count;
    }
    for (const auto& [seconds, count] : nominal)
        distances_.push_back({seconds, count});
    std::ranges::stable_sort(distances_, std::greater(), &Distance::count);
    distances_.resize(std::min(distances_.size(), kept_distances));
}

std::uint64_t BarSpacing::count_of(std::int64_t seconds) const noexcept {
    const auto found = std::ranges::find(distances_, seconds, &Distance::seconds);
    return found == distances_.end() ? 0 : found->count;
}

BarLength BarLength::of(const BarSpacing& spacing) noexcept {
    if (spacing.total() == 0)
        return {};
    const BarSpacing::Distance& usual = spacing.most_frequent().front();
    return {usual.seconds, static_cast<double>(usual.count) / static_cast<double>(spacing.total())};
}

std::string BarLength::text() const {
    return is_regular() ? bar_length_text(seconds) : "";
}

SameLength has_length(const BarSpacing& bars, const BarLength& length) noexcept {
    const BarLength own = BarLength::of(bars);
    if (own.seconds == 0 || length.seconds == 0)
        return SameLength::unknown;
    if (own.seconds == length.seconds)
        return SameLength::yes;
    if (!length.is_regular())
        return SameLength::unknown;
    std::uint64_t shorter = 0;
    for (const BarSpacing::Distance& distance : bars.most_frequent())
        shorter += distance.seconds < length.seconds ? distance.count : 0;
    const std::uint64_t equal = bars.count_of(length.seconds);
    // A few bars may be shorter than the others: the last one of a session, or one that is not over.
    constexpr std::uint64_t few = 3;
    if (shorter > equal && shorter >= few)
        return SameLength::no;
    // A longer distance can be a gap. Gaps vary in length, so if one longer distance recurs and none is as
    // short as the given length, the bars themselves are longer.
    const std::uint64_t usual = bars.most_frequent().front().count;
    const bool many = bars.total() >= 20;
    if (equal == 0 && own.seconds > length.seconds)
        return usual > few && (many || usual * 2 >= bars.total()) ? SameLength::no : SameLength::unknown;
    if (own.seconds > length.seconds && many && equal * 2 < usual)
        return SameLength::no;
    return equal > 0 ? SameLength::yes : SameLength::unknown;
}

} // namespace rekindle::market
