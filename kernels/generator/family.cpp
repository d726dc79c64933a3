#include "family.h"

#include "shared_memory.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

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

/// The features for loads and stores of 8-bit and 16-bit elements (lib/dtype.slang). Every family may use
/// them without naming them.
constexpr Features narrow{Feature::storage_16bit, Feature::storage_8bit, Feature::int8_arithmetic};

std::string first_name(Features features) {
    return std::string(kernels::name(static_cast<Feature>(1u << std::countr_zero(features.bits()))));
}

void check_needs(Features needed, Features named) {
    if (const Features missing = needed.without(named | narrow); !missing.empty())
        throw Refused("the module needs " + first_name(missing) +
                      ", which kernels.json does not name for it");
    const Features visible(named.bits() & features_of_capabilities().bits());
    if (const Features unused = visible.without(needed); !unused.empty())
        throw Refused("kernels.json names " + first_name(unused) + ", which the module does not need");
}

/// Adds the features that shared memory requires. A kernel gets those that all of its cases need, and a case
/// those that it needs in addition.
void add_needs_of_shared_memory(Family& family, const Words& module) {
    const SharedMemory shared(module);
    for (TableEntry& entry : family.entries) {
        std::uint64_t least = UINT64_MAX;
        std::vector<std::pair<Case*, std::uint64_t>> sizes;
        for (Case& one : family.cases) {
            if (one.kernel != entry.name)
                continue;
            std::map<std::uint32_t, std::uint32_t> values;
            for (const auto& [name, value] : one.constants)
                values[std::ranges::find(family.reflection.constants, name, &ReflectedConstant::name)->id] =
                    value;
            sizes.emplace_back(&one, shared.bytes(entry.name, values));
            least = std::min(least, sizes.back().second);
        }
        try {
            const Features of_all = sizes.empty() ? Features() : feature_for_shared_bytes(least);
            for (const auto& [one, bytes] : sizes)
                one->needs = feature_for_shared_bytes(bytes).without(of_all);
            entry.needs = entry.needs | of_all;
        } catch (const Refused& e) {
            throw Refused("'" + entry.name + "': " + e.what());
        }
    }
}

void check_entry(const Reflection& reflection, const TableEntry& entry) {
    const auto found = std::ranges::find(reflection.entries, entry.name, &ReflectedEntry::name);
    if (found == reflection.entries.end())
        throw Refused("the module lacks the entry point '" + entry.name + "'");
    if (found->threads[0] != entry.threads || found->threads[1] != 1 || found->threads[2] != 1)
        throw Refused("'" + entry.name + "' does not have the " + std::to_string(entry.threads) +
                      " threads that kernels.json gives it");
}

} // namespace

std::vector<std::string_view> kernel_names(std::span<const TableEntry> entries) {
    std::vector<std::string_view> names;
    for (const TableEntry& entry : entries)
        names.push_back(entry.name);
    return names;
}

Family checked_family(TableModule table, const Words& module, Reflection reflection,
                      std::vector<Case> cases) {
    refuse_logical_copies(module);
    const Features needed = needed_features(module);
    check_needs(needed, table.needs);
    for (TableEntry& entry : table.entries) {
        check_entry(reflection, entry);
        entry.needs = entry.needs | needed;
    }
    if (entry_points(module).size() != table.entries.size())
        throw Refused("the module has entry points that are not in kernels.json");
    if (reflection.fields.empty())
        throw Refused("the family has no push-constant block");
    Family family{std::move(table.name),   stripped(module),         std::move(reflection),
                  constant_values(module), std::move(table.entries), std::move(cases)};
    add_needs_of_shared_memory(family, module);
    return family;
}

} // namespace rekindle::kernels::generator
