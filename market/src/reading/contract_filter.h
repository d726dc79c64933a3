#pragma once
/// Decides which contracts are read.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market::reading {

class ContractFilter {
  public:
    /// Accepts every contract.
    ContractFilter() = default;
    /// The parameters are as ReadOptions::contract and ReadOptions::exact_contracts.
    ContractFilter(std::string_view beginnings, std::vector<std::string> exact);

    bool accepts(std::string_view name) const {
        if (!exact_.empty())
            return std::binary_search(exact_.begin(), exact_.end(), name);
        return beginnings_.empty() || std::any_of(beginnings_.begin(), beginnings_.end(),
                                                  [&](const std::string& b) { return name.starts_with(b); });
    }
    /// Whether the filter lists complete names. The files are then expected to hold other contracts, too.
    bool is_exact() const noexcept { return !exact_.empty(); }

  private:
    std::vector<std::string> beginnings_; ///< empty: all
    std::vector<std::string> exact_;      ///< in alphabetical order; empty: `beginnings_` decides
};

} // namespace rekindle::market::reading
