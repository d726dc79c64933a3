#pragma once
/// One family after its checks: slangc's output, its registry entries and its audit cases.

#include "audit.h"
#include "module.h"
#include "reflection.h"
#include "registry.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace rekindle::kernels::generator {

struct Family {
    std::string name;
    Words module; ///< stripped
    Reflection reflection;
    std::map<std::uint32_t, std::uint32_t> initial_values; ///< of the constants that the code uses, by id
    std::vector<RegistryEntry> entries;                    ///< in the registry's order
    std::vector<Case> cases;
};

/// Names of a family's kernels in the registry.
std::vector<std::string_view> kernel_names(std::span<const RegistryEntry> entries);

/// Assembles and checks a family. Throws Refused
///  - on OpCopyLogical, naming the functions: Mesa 22.3 fails or crashes on it;
///  - when the module needs a feature that an entry's `needs` does not name: a driver may reject the whole
///  module;
///  - when the module's entry points, their threads and the registry differ.
Family checked_family(std::string name, const Words& module, Reflection reflection,
                      std::vector<RegistryEntry> entries, std::vector<Case> cases);

} // namespace rekindle::kernels::generator
