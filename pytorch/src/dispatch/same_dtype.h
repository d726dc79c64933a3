#pragma once
/// Kernels get one dtype for several operands; these functions reject operands that have a different one.
/// Iterators check this themselves.

#include <ATen/core/TensorBase.h>
#include <c10/util/Exception.h>

namespace rvk {

/// Throws c10::Error if both are defined and their dtypes differ. The names are those of the arguments.
inline void require_same_dtype(const at::TensorBase& a, const char* a_name, const at::TensorBase& b,
                               const char* b_name) {
    TORCH_CHECK(!a.defined() || !b.defined() || a.scalar_type() == b.scalar_type(), "expected ", a_name,
                " and ", b_name, " to have the same dtype, but got: ", a.scalar_type(),
                " != ", b.scalar_type());
}

/// Parameters and statistics of a normalization have the input's dtype, or are float32 if the input is
/// float16 or bfloat16; all of them have the same dtype. Throws c10::Error otherwise.
inline void require_parameter_dtypes(const at::TensorBase& input, const at::TensorBase& weight,
                                     const at::TensorBase& bias) {
    const at::ScalarType type = input.scalar_type();
    const bool narrow = type == at::kHalf || type == at::kBFloat16;
    for (const auto* parameter : {&weight, &bias})
        TORCH_CHECK(!parameter->defined() || parameter->scalar_type() == type ||
                        (narrow && parameter->scalar_type() == at::kFloat),
                    "mixed dtype: expected parameters of ", narrow ? "Float or " : "", type,
                    " for an input of ", type, ", but got ", parameter->scalar_type());
    require_same_dtype(weight, "weight", bias, "bias");
}

} // namespace rvk
