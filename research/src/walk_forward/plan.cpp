#include <rekindle/foundation/error.h>
#include <rekindle/research/walk_forward.h>

#include <algorithm>

namespace rekindle::research {

namespace {

/// Whether a row's outcome is known when the final part begins.
std::vector<std::uint8_t> known_before(const RowTimes& rows, std::size_t final_begin) {
    std::vector<std::uint8_t> trainable(rows.trainable.begin(), rows.trainable.end());
    if (final_begin == rows.size())
        return trainable;
    for (std::size_t row = 0; row < rows.size(); ++row)
        if (rows.end[row] > rows.known_at[final_begin])
            trainable[row] = 0;
    return trainable;
}

} // namespace

FoldPlan plan_folds(const RowTimes& all, const WalkForwardRules& rules) {
    FoldPlan plan;
    const auto end = static_cast<std::size_t>(static_cast<double>(all.size()) * (1 - rules.final_share));
    if (end == 0)
        throw usage_error("no row is left before the final part").at("--final-share");
    plan.final_rows = {end, all.size()};
    const std::vector<std::uint8_t> trainable = known_before(all, end);
    const RowTimes rows{all.known_at, all.end, trainable, all.instrument};
    const std::size_t train_rows = rules.train_rows > 0 ? rules.train_rows : end / 2;
    if (rules.combinatorial()) {
        CombinatorialFolds folds = combinatorial_folds(
            rows, end, {rules.blocks, rules.test_blocks, rules.embargo_rows, rules.embargo_seconds});
        plan.folds = std::move(folds.folds);
        plan.path_of = std::move(folds.path_of);
        plan.paths = folds.paths;
    } else {
        plan.folds = walk_forward_folds(rows, end, {rules.window, rules.folds, train_rows});
        plan.path_of.assign(plan.folds.size(), {0});
    }
    if (end < all.size()) {
        const bool rolling = !rules.combinatorial() && rules.window == Window::rolling;
        plan.final_fold = {training_rows_before(rows, end, rolling ? train_rows : all.size()),
                           {plan.final_rows}};
    }
    return plan;
}

} // namespace rekindle::research
