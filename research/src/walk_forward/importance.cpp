#include "walk_forward/importance.h"

#include <algorithm>

namespace rekindle::research {

namespace {

double median_of(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

} // namespace

void ImportanceOfGroups::add(std::size_t fold, const NetworkResult& result) {
    if (result.permuted_losses.size() != groups_.columns.size())
        return;
    Losses& losses = folds_[fold];
    losses.permuted.resize(groups_.columns.size());
    losses.plain += result.test_loss;
    for (std::size_t g = 0; g < groups_.columns.size(); ++g)
        losses.permuted[g] += result.permuted_losses[g];
}

std::vector<Importance> ImportanceOfGroups::result() const {
    std::vector<Importance> list;
    for (std::size_t g = 0; g < groups_.names.size() && !folds_.empty(); ++g) {
        std::vector<double> increases;
        for (const auto& [fold, losses] : folds_)
            increases.push_back(losses.plain > 0 ? losses.permuted[g] / losses.plain - 1 : 0);
        const auto [low, high] = std::ranges::minmax(increases);
        list.push_back({groups_.names[g], median_of(increases), low, high});
    }
    trainer::sort_by_increase(list);
    return list;
}

} // namespace rekindle::research
