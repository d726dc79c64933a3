#pragma once
/// Parameters of the kernel modules amdgpu and nvidia in a text.

#include "found.h"
#include "variables.h"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace rekindle::doctor {

/// Keeps a reference to the knowledge. Immutable; threads may share it.
class ParameterFinder {
  public:
    explicit ParameterFinder(const Knowledge& knowledge);

    /// Marks "amdgpu.NAME=VALUE", the words after "options amdgpu" or "modprobe amdgpu", "NVreg_NAME=VALUE",
    /// and names that only amdgpu has, with a value.
    void mark_parameters(const Block& block, const SettingContext& context, std::vector<Found>& found) const;

  private:
    struct Place;
    void mark_at(const Block& block, const Place& place, const SettingContext& context,
                 std::vector<Found>& found) const;
    void mark_options(const Block& block, std::size_t begin, const SettingContext& context,
                      std::vector<Found>& found) const;

    const Knowledge& knowledge_;
    std::unordered_map<std::string_view, const EnvironmentVariable*> known_; ///< by name, with its prefix
};

} // namespace rekindle::doctor
