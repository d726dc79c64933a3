#pragma once
/// Permutation importance by group of features.

#include <rekindle/research/walk_forward.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace rekindle::research {

/// Uses the groups of the feature table. If all columns belong to one group, each column forms its own group.
class ImportanceOfGroups {
  public:
    explicit ImportanceOfGroups(const std::vector<std::string>& columns);

    /// For JobSettings::permuted.
    const std::vector<std::vector<std::size_t>>& columns() const noexcept { return columns_; }
    void add(std::size_t fold, const NetworkResult& result);
    /// The group with the largest increase first.
    std::vector<Importance> result() const;

  private:
    std::vector<std::string> names_;
    std::vector<std::vector<std::size_t>> columns_;
    struct Losses {
        double plain = 0;
        std::vector<double> permuted;
    };
    std::map<std::size_t, Losses> folds_; ///< sums over the networks
};

} // namespace rekindle::research
