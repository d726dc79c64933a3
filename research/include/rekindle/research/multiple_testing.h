#pragma once
/// Tests many strategies against one reference at once: is any of them better, and which ones?

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

/// `advantages` are returns above the reference (or losses below it): higher is better. Divides each mean by
/// the std of its bootstrap means. Does not re-center strategies whose mean is below -sqrt(2 log log n)
/// standard errors. The default block length is the mean of the strategies' optimal block lengths. Strategies
/// whose advantage is always 0 cannot be better and are ignored. Returns the reason instead if there are
/// fewer than 30 periods or 10 blocks, or if no strategy differs from the reference.
Expected<SuperiorAbility> superior_ability(const Panel& advantages, const BootstrapOptions& options = {});

/// The stepdown p-values of Romano and Wolf (2005, 2016), adjusted for the number of strategies. For each
/// strategy, the null hypothesis is that it is not better than the reference. Rejecting all hypotheses with
/// p <= α keeps the probability of any false claim at or below α. The p-value is 1 for strategies whose
/// advantage is always 0. Returns a reason instead in the same cases as superior_ability().
Expected<std::vector<double>> stepdown_p_values(const Panel& advantages,
                                                const BootstrapOptions& options = {});

} // namespace rekindle::research
