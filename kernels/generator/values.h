#pragma once
/// The names of specialization constants' values: kernels/include/rekindle/kernels/values.def,
/// elementwise.def, random.def.

#include <cstdint>
#include <optional>
#include <string_view>

namespace rekindle::kernels::generator {

/// The enumeration that a constant takes its values from; empty if its values are plain numbers.
std::string_view enumeration_of(std::string_view family, std::string_view kernel,
                                std::string_view constant) noexcept;

/// The number of a name; empty if the enumeration has no such name.
std::optional<std::uint32_t> number_of(std::string_view enumeration, std::string_view name) noexcept;

} // namespace rekindle::kernels::generator
