/// Factorizations run on the CPU; the results keep the layout that their derivatives expect.

#include "../../dispatch/structured.h"

#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace rvk {

namespace {

/// PyTorch factorizes the transpose of a contiguous matrix, and the derivative, which sees the device's
/// tensor, relies on that. A copy to the CPU makes tensors with gaps contiguous, so these are copied with
/// contiguous columns.
at::Tensor same_contiguity(const at::Tensor& matrix) {
    return matrix.is_contiguous() ? matrix : matrix.mT().contiguous().mT();
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> determinant(const at::Tensor& matrix) {
    const at::Tensor same = same_contiguity(matrix);
    return call_fallback<std::tuple<at::Tensor, at::Tensor, at::Tensor>, const at::Tensor&>("_linalg_det",
                                                                                            same);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>
sign_and_log_determinant(const at::Tensor& matrix) {
    const at::Tensor same = same_contiguity(matrix);
    return call_fallback<std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>, const at::Tensor&>(
        "_linalg_slogdet", same);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "_linalg_det", &determinant);
    register_operator(m, "_linalg_slogdet", &sign_and_log_determinant);
}

} // namespace

} // namespace rvk
