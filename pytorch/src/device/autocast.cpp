/// Automatic mixed precision: PyTorch's autocast policies for its operators, registered for this device.

#include "../compat.h"

#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace at::autocast {

namespace {

/// Autocast refuses this loss, as on other devices, because the logarithms of 16-bit probabilities overflow.
Tensor refuse_binary_cross_entropy(const Tensor&, const Tensor&, const std::optional<Tensor>&, std::int64_t) {
    TORCH_CHECK(
        false,
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast. Use "
        "torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss instead, which "
        "include the sigmoid and are safe.");
}

} // namespace

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
    m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define RVK_LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
    AT_FORALL_LOWER_PRECISION_FP(RVK_LOWER_PRECISION)
#undef RVK_LOWER_PRECISION
#define RVK_FLOAT32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
    AT_FORALL_FP32(RVK_FLOAT32)
#if RVK_AUTOCASTS_MATRIX_SQRTH
    RVK_FLOAT32(linalg_matrix_sqrth)
#endif
#undef RVK_FLOAT32
#define RVK_FLOAT32_OUTPUT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
    AT_FORALL_FP32_SET_OPT_DTYPE(RVK_FLOAT32_OUTPUT)
#undef RVK_FLOAT32_OUTPUT
    AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
#define RVK_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
    AT_FORALL_PROMOTE(RVK_PROMOTE)
#undef RVK_PROMOTE
    m.impl("binary_cross_entropy", &refuse_binary_cross_entropy);
}

} // namespace at::autocast
