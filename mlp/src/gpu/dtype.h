#pragma once
/// A NumberType as the value of a specialization constant, and as the factor of matrix units.

#include <rekindle/kernels/values.h>
#include <rekindle/mlp/matrix_product.h>
#include <rekindle/runtime/matrix_units.h>

#include <optional>

namespace rekindle::mlp {

constexpr std::uint32_t dtype_of(NumberType type) {
    switch (type) {
    case NumberType::float16:
        return kernels::value::dtype_float16;
    case NumberType::bfloat16:
        return kernels::value::dtype_bfloat16;
    default:
        return kernels::value::dtype_float32;
    }
}

/// Empty for float32, which matrix units do not multiply.
constexpr std::optional<runtime::UnitFactor> unit_factor(NumberType type) {
    switch (type) {
    case NumberType::float16:
        return runtime::UnitFactor::float16;
    case NumberType::bfloat16:
        return runtime::UnitFactor::bfloat16;
    default:
        return std::nullopt;
    }
}

} // namespace rekindle::mlp
