#include <rekindle/market/session_history.h>

#include <algorithm>
#include <cmath>

namespace rekindle::market {

double SessionHistory::price_range(std::size_t s) const noexcept {
    constexpr double smallest_range = 1e-4;
    return std::max(tick_.to_points(static_cast<double>(sessions_[s].high - sessions_[s].low)),
                    smallest_range);
}

double SessionHistory::log_return(std::size_t s) const noexcept {
    return std::log(close(s, s) / close(s - 1, s));
}

} // namespace rekindle::market
