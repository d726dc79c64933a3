/// Factorizations, which run on the CPU. Their results get the layout that their derivatives expect.

#include "../../dispatch/structured.h"

#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace rvk {

namespace {

/// PyTorch factorizes the transpose if the matrix is contiguous, and the derivative checks the device's
/// tensor to see which one was factorized. A copy to the CPU makes tensors with gaps contiguous, so matrices
/// that are not contiguous are first copied with contiguous columns, which the copy keeps.
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
