#pragma once
/// Permutation importance by group of features.

#include <rekindle/research/walk_forward.h>
#include <rekindle/trainer/importance.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace rekindle::research {

/// Sums losses over networks and folds. Uses the groups of trainer::input_groups().
class ImportanceOfGroups {
  public:
    explicit ImportanceOfGroups(const std::vector<std::string>& columns)
        : groups_(trainer::input_groups(columns)) {}

    /// For JobSettings::permuted.
    const std::vector<std::vector<std::size_t>>& columns() const noexcept { return groups_.columns; }
    void add(std::size_t fold, const NetworkResult& result);
    /// The group with the largest increase first.
    std::vector<Importance> result() const;

  private:
    trainer::InputGroups groups_;
    struct Losses {
        double plain = 0;
        std::vector<double> permuted;
    };
    std::map<std::size_t, Losses> folds_; ///< sums over the networks
};

} // namespace rekindle::research
