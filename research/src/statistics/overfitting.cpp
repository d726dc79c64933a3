#include <rekindle/base/text.h>
#include <rekindle/research/overfitting.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace rekindle::research {

namespace {

/// Sums of one strategy's returns over one or more blocks. Returns are centered at the strategy's mean over
/// all periods, which avoids cancellation in the variance.
struct Sums {
    double sum = 0, squares = 0, count = 0;

    Sums& operator+=(const Sums& other) {
        sum += other.sum;
        squares += other.squares;
        count += other.count;
        return *this;
    }
    double sharpe(double center) const {
        const double mean = sum / count;
        const double variance = (squares - count * mean * mean) / (count - 1);
        if (variance <= 1e-14 * squares / count)
            return 0; // no trade in these blocks: what remains is rounding error
        return (mean + center) / std::sqrt(variance);
    }
};

class Splitter {
  public:
    Splitter(const Panel& returns, std::size_t blocks)
        : strategies_(returns.strategies), blocks_(blocks), centers_(strategies_),
          sums_(strategies_ * blocks) {
        const std::size_t periods = returns.periods();
        for (std::size_t s = 0; s < strategies_; ++s) {
            for (std::size_t period = 0; period < periods; ++period)
                centers_[s] += returns.at(period, s) / static_cast<double>(periods);
            std::size_t period = 0;
            for (std::size_t block = 0; block < blocks; ++block) {
                const std::size_t length = periods / blocks + (block < periods % blocks ? 1 : 0);
                for (std::size_t end = period + length; period < end; ++period) {
                    const double value = returns.at(period, s) - centers_[s];
                    sums_[s * blocks + block] += {value, value * value, 1};
                }
            }
        }
    }

    /// The Sharpe ratio of a strategy over the blocks whose bits are set.
    double sharpe(std::size_t strategy, std::uint32_t chosen) const {
        Sums total;
        for (std::size_t block = 0; block < blocks_; ++block)
            if ((chosen >> block & 1) != 0)
                total += sums_[strategy * blocks_ + block];
        return total.sharpe(centers_[strategy]);
    }

    void add_split(std::uint32_t chosen, Overfitting& result) const {
        const std::uint32_t others = ~chosen & ((1u << blocks_) - 1);
        std::size_t best = 0;
        double inside = sharpe(0, chosen);
        for (std::size_t s = 1; s < strategies_; ++s)
            if (const double ratio = sharpe(s, chosen); ratio > inside) {
                best = s;
                inside = ratio;
            }
        const double outside = sharpe(best, others);
        double below = 0, equal = 0;
        for (std::size_t s = 0; s < strategies_; ++s) {
            const double ratio = s == best ? outside : sharpe(s, others);
            below += ratio < outside ? 1 : 0;
            equal += ratio == outside ? 1 : 0;
        }
        const double rank = (below + (equal + 1) / 2) / (static_cast<double>(strategies_) + 1);
        result.logits.push_back(std::log(rank / (1 - rank)));
        result.chosen.push_back(inside);
        result.outside.push_back(outside);
    }

  private:
    std::size_t strategies_, blocks_;
    std::vector<double> centers_;
    std::vector<Sums> sums_; ///< one per block, strategy after strategy
};

/// Bit masks of every choice of half of the blocks, in lexicographic order of the blocks.
std::vector<std::uint32_t> halves(std::size_t blocks) {
    std::vector<std::uint32_t> result;
    for (std::uint32_t reversed = (1u << blocks); reversed-- > 0;)
        if (static_cast<std::size_t>(std::popcount(reversed)) == blocks / 2) {
            std::uint32_t mask = 0;
            for (std::size_t block = 0; block < blocks; ++block)
                mask |= (reversed >> (blocks - 1 - block) & 1) << block;
            result.push_back(mask);
        }
    return result;
}

} // namespace

Expected<Overfitting> probability_of_overfitting(const Panel& returns, std::size_t blocks) {
    if (blocks < 2 || blocks > 20 || blocks % 2 != 0)
        throw usage_error(fmt::format("{} cannot be divided into two equal halves", counted(blocks, "block")))
            .expected("an even number from 2 to 20");
    if (returns.strategies < 2)
        return Error("with a single strategy, no choice can overfit");
    if (returns.periods() < 2 * blocks)
        return Error(fmt::format("{} are too few for {} of at least two",
                                 counted(returns.periods(), "period"), counted(blocks, "block")));
    const Splitter splitter(returns, blocks);
    Overfitting result;
    for (const std::uint32_t half : halves(blocks))
        splitter.add_split(half, result);
    result.splits = result.logits.size();
    const auto share = [&](const std::vector<double>& values, auto counts) {
        return static_cast<double>(std::ranges::count_if(values, counts)) /
               static_cast<double>(result.splits);
    };
    result.probability = share(result.logits, [](double logit) { return logit <= 0; });
    result.probability_of_loss = share(result.outside, [](double ratio) { return ratio < 0; });
    return result;
}

} // namespace rekindle::research
