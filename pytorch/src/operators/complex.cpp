/// Complex tensors are stored as pairs of numbers: the complex operators that PyTorch requires of every
/// device, with kernels for real numbers.

#include "copy.h"

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/view_as_real.h>

namespace rvk {

namespace {

void conjugate(at::TensorIteratorBase& iterator) {
    const at::Tensor output = iterator.tensor(0), input = iterator.tensor(1);
    if (!output.is_same(input))
        copy_on_device(output, input);
    if (output.is_complex())
        at::view_as_real(output).select(-1, 1).neg_();
}

} // namespace

} // namespace rvk

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(conj_physical_stub, &rvk::conjugate)
} // namespace at::native
