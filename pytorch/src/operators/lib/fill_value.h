#pragma once
/// Zero-dimensional tensors as fill values. As on the CPU and with CUDA, a value that the filled tensor's
/// dtype cannot represent is an error.

#include "../../device/operator_scope.h"

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <optional>

namespace rvk {

/// Whether the range of `to` includes that of `from`.
inline bool holds_all(at::ScalarType to, at::ScalarType from) {
    if (to == from || to == at::kBool || from == at::kBool)
        return true;
    if (at::isBarebonesUnsignedType(to) || at::isBarebonesUnsignedType(from))
        return false; // promoteTypes does not support them
    if (at::isIntegralType(from, false) && !at::isIntegralType(to, false))
        return to != at::kHalf && to != at::kComplexHalf;
    return c10::promoteTypes(to, from) == to;
}

/// Returns the value if it is on the CPU, or if it must be read to check that the dtype can represent it
/// (which waits for the device).
inline std::optional<at::Scalar> value_to_check(const at::Tensor& value, at::ScalarType dtype) {
    if (!value.is_cpu() && holds_all(dtype, value.scalar_type()))
        return std::nullopt;
    const AllowCopyToHost allow("whether the value is an error depends on it");
    return value.item();
}

} // namespace rvk
