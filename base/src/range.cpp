#include <rekindle/base/range.h>

#include <fmt/format.h>

#include <cmath>

namespace rekindle {

std::string Range::text(std::string_view what) const {
    if (std::isinf(low) && std::isinf(high))
        return std::string(what);
    if (std::isinf(high))
        return fmt::format("{}, {} {}", what, low_excluded ? "more than" : "at least", low);
    return fmt::format("{} {} {} {} {}", what,
                       low_excluded    ? "above"
                       : high_excluded ? "of at least"
                                       : "from",
                       low, high_excluded ? "and below" : (low_excluded ? "up to" : "to"), high);
}

} // namespace rekindle
