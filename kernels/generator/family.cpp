#include "family.h"

#include <algorithm>
#include <bit>

namespace rekindle::kernels::generator {
namespace {

void refuse_logical_copies(const Words& module) {
    std::string names;
    for (const std::string& function : functions_with_logical_copies(module))
        names += (names.empty() ? "" : ", ") + function;
    if (!names.empty())
        throw Refused("OpCopyLogical in " + names +
                      ": a struct is loaded or stored through a pointer, or an entry point has a `uniform` "
                      "parameter; load its fields one by one (kernels/README.md)");
}

void check_needs(const Words& module, const RegistryEntry& entry) {
    const Features missing = needed_features(module).without(entry.needs);
    if (missing.empty())
        return;
    const auto first = static_cast<Feature>(1u << std::countr_zero(missing.bits()));
    throw Refused("the module needs " + std::string(kernels::name(first)) +
                  ", which registry.def does not name for '" + std::string(entry.name) + "'");
}

void check_entry(const Reflection& reflection, const RegistryEntry& entry) {
    const auto found = std::ranges::find(reflection.entries, entry.name, &ReflectedEntry::name);
    if (found == reflection.entries.end())
        throw Refused("the module lacks the registry's entry point '" + std::string(entry.name) + "'");
    if (found->threads[0] != entry.threads || found->threads[1] != 1 || found->threads[2] != 1)
        throw Refused("'" + std::string(entry.name) + "' does not have the " + std::to_string(entry.threads) +
                      " threads that the registry gives it");
}

} // namespace

std::vector<std::string_view> kernel_names(std::span<const RegistryEntry> entries) {
    std::vector<std::string_view> names;
    for (const RegistryEntry& entry : entries)
        names.push_back(entry.name);
    return names;
}

Family checked_family(std::string name, const Words& module, Reflection reflection,
                      std::vector<RegistryEntry> entries, std::vector<Case> cases) {
    refuse_logical_copies(module);
    if (entries.empty())
        throw Refused("registry.def has no kernel of this family");
    for (const RegistryEntry& entry : entries) {
        check_needs(module, entry);
        check_entry(reflection, entry);
    }
    if (entry_points(module).size() != entries.size())
        throw Refused("the module has entry points that are not in registry.def");
    if (reflection.fields.empty())
        throw Refused("the family has no push-constant block");
    return {std::move(name),         stripped(module),   std::move(reflection),
            constant_values(module), std::move(entries), std::move(cases)};
}

} // namespace rekindle::kernels::generator
