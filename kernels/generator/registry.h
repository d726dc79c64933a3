#pragma once
/// kernels/registry/registry.def as a C++ list.

#include <rekindle/kernels/kernel.h>

#include <span>
#include <string_view>

namespace rekindle::kernels::generator {

struct RegistryEntry {
    std::string_view family; ///< with the suffix of its dtype: "softmax_float64"
    std::string_view base;   ///< without: "softmax"
    std::string_view dtype;  ///< that the family computes in: "float32", "float64", "int64"
    std::string_view name, brief;
    std::uint32_t threads;
    Features needs;
};

/// All entries in the registry's order.
std::span<const RegistryEntry> registry() noexcept;

} // namespace rekindle::kernels::generator
