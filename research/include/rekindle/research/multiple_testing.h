#pragma once
/// Tests of many strategies at once against one reference: whether any is better, and which.

#include <rekindle/research/bootstrap.h>

#include <cstddef>
#include <vector>

namespace rekindle::research {

/// Hansen's test for superior predictive ability (2005). The null hypothesis: no strategy is better than the
/// reference.
struct SuperiorAbility {
    double statistic = 0; ///< the largest studentized mean, at least 0
    std::size_t best = 0; ///< the strategy that has it
    double p_value = 1;   ///< the consistent one, to report
    double lower = 1;     ///< bounds of it, Hansen's "liberal" and "conservative" p-values
    double upper = 1;
    double block_length = 0;
};

/// `advantages` are returns above the reference (or losses below it): higher is better. The studentization
/// uses the std of the bootstrap means; strategies below -sqrt(2 log log n) standard errors
/// are not re-centered. The block length, unless given, is the mean of the strategies' optimal ones.
/// Strategies whose advantage is always 0 cannot be better and are left out. The reason why there is no
/// result: fewer than 30 periods, fewer than 10 blocks, or no strategy that differs from the reference.
Expected<SuperiorAbility> superior_ability(const Panel& advantages, const BootstrapOptions& options = {});

/// The stepdown of Romano and Wolf (2005, 2016): for each strategy, the p-value of being better than the
/// reference, adjusted for the number of strategies. Rejecting those up to α keeps the probability of any
/// false claim below α. 1 for strategies whose advantage is always 0. Reasons for no result as above.
Expected<std::vector<double>> stepdown_p_values(const Panel& advantages,
                                                const BootstrapOptions& options = {});

} // namespace rekindle::research
