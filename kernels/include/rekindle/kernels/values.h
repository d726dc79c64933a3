#pragma once
/// The values of specialization constants by name (values.def), with the names that they have in Slang:
/// value::dtype_float32, value::sharing_quads_along_k.

#include <cstdint>

namespace rekindle::kernels::value {

#define REKINDLE_VALUE(enumeration, name, number)                                                            \
    inline constexpr std::uint32_t enumeration##_##name = number;
#define REKINDLE_NAMED(scope, constant, enumeration)
#include <rekindle/kernels/values.def>
#undef REKINDLE_VALUE
#undef REKINDLE_NAMED

} // namespace rekindle::kernels::value
