#include "walk_forward/importance.h"

#include <rekindle/market/features.h>

#include <algorithm>
#include <set>

namespace rekindle::research {

namespace {

std::string group_of(const std::string& column) {
    for (const market::FeatureInfo& feature : market::feature_table())
        if (feature.name == column)
            return feature.group;
    return column;
}

double median_of(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

} // namespace

ImportanceOfGroups::ImportanceOfGroups(const std::vector<std::string>& columns) {
    std::set<std::string> groups;
    for (const std::string& column : columns)
        groups.insert(group_of(column));
    const bool one_group = groups.size() == 1;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const std::string name = one_group ? columns[c] : group_of(columns[c]);
        const auto found = std::ranges::find(names_, name);
        if (found == names_.end()) {
            names_.push_back(name);
            columns_.push_back({c});
        } else {
            columns_[static_cast<std::size_t>(found - names_.begin())].push_back(c);
        }
    }
}

void ImportanceOfGroups::add(std::size_t fold, const NetworkResult& result) {
    if (result.permuted_losses.size() != columns_.size())
        return;
    Losses& losses = folds_[fold];
    losses.permuted.resize(columns_.size());
    losses.plain += result.test_loss;
    for (std::size_t g = 0; g < columns_.size(); ++g)
        losses.permuted[g] += result.permuted_losses[g];
}

std::vector<Importance> ImportanceOfGroups::result() const {
    std::vector<Importance> list;
    for (std::size_t g = 0; g < names_.size() && !folds_.empty(); ++g) {
        std::vector<double> increases;
        for (const auto& [fold, losses] : folds_)
            increases.push_back(losses.plain > 0 ? losses.permuted[g] / losses.plain - 1 : 0);
        const auto [low, high] = std::ranges::minmax(increases);
        list.push_back({names_[g], median_of(increases), low, high});
    }
    std::ranges::stable_sort(list, std::ranges::greater(), &Importance::loss_increase);
    return list;
}

} // namespace rekindle::research
