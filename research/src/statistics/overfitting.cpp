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
        for (std::size_t period = 0; period < periods; ++period)
            for (std::size_t s = 0; s < strategies_; ++s)
                centers_[s] += returns.at(period, s) / static_cast<double>(periods);
        std::size_t period = 0;
        for (std::size_t block = 0; block < blocks; ++block) {
            const std::size_t length = periods / blocks + (block < periods % blocks ? 1 : 0);
            for (std::size_t end = period + length; period < end; ++period)
                for (std::size_t s = 0; s < strategies_; ++s) {
                    const double value = returns.at(period, s) - centers_[s];
                    sums_[s * blocks + block] += {value, value * value, 1};
                }
        }
    }

    /// The Sharpe ratio of every strategy over the blocks whose bits are set.
    std::vector<double> sharpes(std::uint32_t chosen) const {
        std::vector<double> ratios(strategies_);
        for (std::size_t s = 0; s < strategies_; ++s)
            ratios[s] = sharpe(s, chosen);
        return ratios;
    }

  private:
    double sharpe(std::size_t strategy, std::uint32_t chosen) const {
        Sums total;
        for (std::size_t block = 0; block < blocks_; ++block)
            if ((chosen >> block & 1) != 0)
                total += sums_[strategy * blocks_ + block];
        return total.sharpe(centers_[strategy]);
    }

    std::size_t strategies_, blocks_;
    std::vector<double> centers_;
    std::vector<Sums> sums_; ///< one per block, strategy after strategy
};

/// Chooses the best strategy by its ratio inside a half, and ranks it by the ratios in the other half.
void judge_split(std::size_t split, std::span<const double> inside, std::span<const double> outside,
                 Overfitting& result) {
    const auto best = static_cast<std::size_t>(std::ranges::max_element(inside) - inside.begin());
    double below = 0, equal = 0;
    for (const double ratio : outside) {
        below += ratio < outside[best] ? 1 : 0;
        equal += ratio == outside[best] ? 1 : 0;
    }
    const double rank = (below + (equal + 1) / 2) / (static_cast<double>(outside.size()) + 1);
    result.logits[split] = std::log(rank / (1 - rank));
    result.chosen[split] = inside[best];
    result.outside[split] = outside[best];
}

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

Expected<Overfitting> probability_of_overfitting(const Panel& returns, std::size_t blocks, ThreadPool& pool) {
    if (blocks < 2 || blocks > 20 || blocks % 2 != 0)
        throw usage_error(fmt::format("{} cannot be divided into two equal halves", counted(blocks, "block")))
            .expected("an even number from 2 to 20");
    if (returns.strategies < 2)
        return Error("with a single strategy, no choice can overfit");
    if (returns.periods() < 2 * blocks)
        return Error(fmt::format("{} are too few for {} of at least two",
                                 counted(returns.periods(), "period"), counted(blocks, "block")));
    const Splitter splitter(returns, blocks);
    const std::vector<std::uint32_t> all = halves(blocks);
    Overfitting result;
    result.splits = all.size();
    for (auto* values : {&result.logits, &result.chosen, &result.outside})
        values->resize(all.size());
    // The order is symmetric: the other half of split i is the half of the i-th split from the end.
    pool.for_each(all.size() / 2, [&](std::size_t i) {
        const std::size_t other = all.size() - 1 - i;
        const std::vector<double> first = splitter.sharpes(all[i]), second = splitter.sharpes(all[other]);
        judge_split(i, first, second, result);
        judge_split(other, second, first, result);
    });
    const auto share = [&](const std::vector<double>& values, auto counts) {
        return static_cast<double>(std::ranges::count_if(values, counts)) /
               static_cast<double>(result.splits);
    };
    result.probability = share(result.logits, [](double logit) { return logit <= 0; });
    result.probability_of_loss = share(result.outside, [](double ratio) { return ratio < 0; });
    return result;
}

} // namespace rekindle::research
