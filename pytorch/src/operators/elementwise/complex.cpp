/// The complex operators that PyTorch requires of every device. Complex tensors are stored as pairs of real
/// numbers, so kernels for real numbers suffice.

#include "../copy/copy.h"

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/_conj.h>
#include <ATen/ops/view_as_real.h>

namespace rvk {

namespace {

/// The tensor as it is in memory, without lazy conjugation.
at::Tensor stored(const at::Tensor& tensor) {
    return tensor.is_conj() ? at::_conj(tensor) : tensor;
}

/// Either tensor may be lazily conjugated. If exactly one is, its conjugation and the requested one cancel.
void conjugate(at::TensorIteratorBase& iterator) {
    const at::Tensor &output = iterator.tensor(0), &input = iterator.tensor(1);
    const at::Tensor target = stored(output);
    if (!output.is_same(input))
        copy_on_device(target, stored(input));
    if (output.is_complex() && output.is_conj() == input.is_conj())
        at::view_as_real(target).select(-1, 1).neg_();
}

} // namespace

} // namespace rvk

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(conj_physical_stub, &rvk::conjugate)
} // namespace at::native
