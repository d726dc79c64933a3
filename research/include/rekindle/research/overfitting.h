#pragma once
/// The probability that choosing the best of several backtests overfits.

#include <rekindle/base/thread_pool.h>
#include <rekindle/research/bootstrap.h>

#include <cstddef>
#include <vector>

namespace rekindle::research {

/// The result of combinatorially symmetric cross-validation (Bailey, Borwein, López de Prado, and Zhu, "The
/// probability of backtest overfitting", 2017).
struct Overfitting {
    /// The share of splits in which the strategy that was best in one half is not above the median in the
    /// other half.
    double probability = 0;
    double probability_of_loss = 0; ///< share of splits in which its ratio in the other half is negative
    std::size_t splits = 0;
    /// Per split, in the order of the first halves: ln(ω / (1 - ω)), ω = rank / (strategies + 1) of the
    /// chosen strategy in the other half; equal ratios share the mean rank.
    std::vector<double> logits;
    std::vector<double> chosen;  ///< the Sharpe ratio of the chosen strategy in the half where it was chosen
    std::vector<double> outside; ///< its Sharpe ratio in the other half
};

/// Cuts the periods into `blocks` contiguous blocks (if they do not divide evenly, the first blocks get one
/// more period) and evaluates every choice of half of them: 12,870 splits for 16 blocks. A strategy without a
/// trade in a half has the ratio 0 there. Takes C(blocks, blocks / 2) · strategies · blocks steps. Returns
/// the reason instead if there is only one strategy or a block has fewer than two periods. Throws Error
/// (usage) unless `blocks` is even and between 2 and 20.
Expected<Overfitting> probability_of_overfitting(const Panel& returns, std::size_t blocks, ThreadPool& pool);

} // namespace rekindle::research
