#pragma once
/// A NumberType as the value of a specialization constant.

#include <rekindle/kernels/values.h>
#include <rekindle/mlp/matrix_product.h>

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

} // namespace rekindle::mlp
