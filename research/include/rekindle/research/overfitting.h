#pragma once
/// The probability that choosing the best of several backtests was overfitting.

#include <rekindle/research/bootstrap.h>

#include <cstddef>
#include <vector>

namespace rekindle::research {

/// The result of combinatorially symmetric cross-validation (Bailey, Borwein, López de Prado, and Zhu, "The
/// probability of backtest overfitting", 2017).
struct Overfitting {
    /// The share of splits in which the strategy that was best in one half is not above the median in the
    /// other.
    double probability = 0;
    double probability_of_loss = 0; ///< the share in which its ratio in the other half is negative
    std::size_t splits = 0;
    /// Per split, in the order of the first halves: ln(ω / (1 - ω)), ω = rank / (strategies + 1) of the
    /// chosen strategy in the other half; equal ratios share the mean rank.
    std::vector<double> logits;
    std::vector<double> chosen;  ///< the Sharpe ratio of the chosen strategy in the half where it was chosen
    std::vector<double> outside; ///< and in the other half
};

/// Cuts the periods into `blocks` contiguous blocks (the first ones a period longer where they cannot be
/// equal) and uses every choice of half of them. A strategy without a trade in a half has the ratio 0 there.
/// The reason why there is none: one strategy, or fewer than two periods per block. Throws Error (usage)
/// unless `blocks` is even, from 2 to
/// 20. Takes C(blocks, blocks / 2) · strategies · blocks steps: 12,870 splits for 16 blocks.
Expected<Overfitting> probability_of_overfitting(const Panel& returns, std::size_t blocks = 16);

} // namespace rekindle::research
