#include "profile/spread.h"

#include "profile/wide_integer.h"

#include <cmath>
#include <cstdlib>

namespace rekindle::market::profile {
namespace {
constexpr int weight_bits = 24;
}

void BarSpread::weigh(const BarColumns& bars, std::size_t i) {
    const std::int64_t low = bars.low[i];
    while (proximities_.size() < shares_.size()) {
        const double points = tick_.to_points(static_cast<double>(proximities_.size()));
        proximities_.push_back(
            static_cast<std::int64_t>(std::floor(std::ldexp(1.0 / (1.0 + points), weight_bits))));
    }
    for (std::size_t k = 0; k < shares_.size(); ++k) {
        const std::int64_t price = low + static_cast<std::int64_t>(k);
        std::int64_t weight = (std::int64_t{1} << weight_bits) + proximity(std::abs(price - bars.close[i]));
        if (weighting_ == Weighting::ohlc)
            weight += proximity(std::abs(price - bars.open[i])) + proximity(bars.high[i] - price) +
                      proximity(price - low);
        shares_[k] = weight;
    }
}

std::span<const std::int64_t> BarSpread::shares(const BarColumns& bars, std::size_t i) {
    shares_.resize(static_cast<std::size_t>(static_cast<std::int64_t>(bars.high[i]) - bars.low[i] + 1));
    if (weighting_ == Weighting::uniform) {
        shares_.assign(shares_.size(), uniform_share(bars.volume[i], bars.low[i], bars.high[i]));
        return shares_;
    }
    weigh(bars, i);
    std::int64_t weights = 0;
    for (const std::int64_t weight : shares_)
        weights += weight;
    const UInt128 per_weight =
        (static_cast<UInt128>(bars.volume[i]) << (volume_fraction_bits + weight_bits)) /
        static_cast<std::uint64_t>(weights);
    for (std::int64_t& share : shares_)
        share = static_cast<std::int64_t>((per_weight * static_cast<std::uint64_t>(share)) >> weight_bits);
    return shares_;
}

} // namespace rekindle::market::profile
