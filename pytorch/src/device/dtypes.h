#pragma once
/// The dtypes that kernels compute with.

#include <algorithm>
#include <array>
#include <c10/core/ScalarType.h>

namespace rvk {

/// The dtypes of kernels/lib/dtype.slang and dtype_float64.slang. Double needs a device that supports
/// float64; kernels treat complex tensors as pairs of real numbers.
inline constexpr std::array dtypes_of_kernels{
    c10::ScalarType::Byte, c10::ScalarType::Char,     c10::ScalarType::Short, c10::ScalarType::Int,
    c10::ScalarType::Long, c10::ScalarType::Half,     c10::ScalarType::Float, c10::ScalarType::Double,
    c10::ScalarType::Bool, c10::ScalarType::BFloat16,
};

/// Whether kernels support this dtype. They would treat elements of any other dtype as float32.
constexpr bool is_known_to_kernels(c10::ScalarType dtype) {
    return std::ranges::find(dtypes_of_kernels, dtype) != dtypes_of_kernels.end();
}

} // namespace rvk
