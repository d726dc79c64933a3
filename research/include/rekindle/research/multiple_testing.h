#pragma once
/// Tests many strategies against one reference at once: is any of them better, and which ones?

#include <rekindle/base/thread_pool.h>
#include <rekindle/research/bootstrap.h>

#include <cstddef>
#include <vector>

namespace rekindle::research {

/// The result of Hansen's test for superior predictive ability (2005). The null hypothesis is that no
/// strategy is better than the reference.
struct SuperiorAbility {
    double statistic = 0; ///< the largest studentized mean, at least 0
    std::size_t best = 0; ///< the strategy with that mean
    double p_value = 1;   ///< Hansen's "consistent" p-value, the one to report
    double lower = 1;     ///< its bounds, Hansen's "liberal" and "conservative" p-values
    double upper = 1;
    double block_length = 0;
};

/// Both tests of one panel, on the same resamples.
struct StrategyTests {
    SuperiorAbility superior;
    /// Per strategy, the stepdown p-value of Romano and Wolf (2005, 2016), adjusted for the number of
    /// strategies. The null hypothesis is that the strategy is not better than the reference. Rejecting all
    /// hypotheses with p <= α keeps the probability of any false claim at or below α. The p-value is 1 for
    /// strategies whose advantage is always 0.
    std::vector<double> stepdown;
};

/// `advantages` are returns above the reference (or losses below it): higher is better. Divides each mean by
/// the std of its bootstrap means. Hansen's test does not re-center strategies whose mean is below
/// -sqrt(2 log log n) standard errors. The default block length is the mean of the strategies' optimal block
/// lengths. Strategies whose advantage is always 0 cannot be better and are ignored. Returns the reason
/// instead if there are fewer than 30 periods or 10 blocks, or if no strategy differs from the reference. The
/// result does not depend on the number of threads.
Expected<StrategyTests> test_strategies(const Panel& advantages, const BootstrapOptions& options,
                                        ThreadPool& pool);

} // namespace rekindle::research
