#pragma once
/// kernels/registry.def as a C++ list.

#include <rekindle/kernels/kernel.h>

#include <span>
#include <string_view>

namespace rekindle::kernels::generator {

struct RegistryEntry {
    std::string_view family, name, brief;
    std::uint32_t threads;
    Features needs;
};

/// All entries in the registry's order.
std::span<const RegistryEntry> registry() noexcept;

} // namespace rekindle::kernels::generator
