#include "copy.h"

#include "elementwise.h"

#include <ATen/ops/view_as_real.h>

namespace rvk {

namespace {

/// The same bytes as numbers that kernels move unchanged.
at::Tensor as_words(const at::Tensor& tensor) {
    switch (tensor.element_size()) {
    case 1:
        return tensor.view(at::kByte);
    case 2:
        return tensor.view(at::kShort);
    case 4:
        return tensor.scalar_type() == at::kFloat ? tensor : tensor.view(at::kInt);
    case 8:
        return tensor.view(at::kLong);
    default:
        return at::view_as_real(tensor).view(at::kLong); // complex128
    }
}

/// `to` = `from`, converted; real dtypes.
void convert(const at::Tensor& to, const at::Tensor& from) {
    auto iterator = at::TensorIteratorConfig()
                        .set_check_mem_overlap(false)
                        .add_output(to)
                        .add_const_input(from)
                        .resize_outputs(false)
                        .check_all_same_dtype(false)
                        .build();
    compute_as(from.scalar_type(), iterator, Operation::identity);
}

} // namespace

void copy_on_device(const at::Tensor& to, const at::Tensor& from) {
    if (to.numel() == 0)
        return;
    const bool complex_to = to.is_complex(), complex_from = from.is_complex();
    if (to.scalar_type() == from.scalar_type()) {
        convert(as_words(to), as_words(from));
    } else if (complex_to && complex_from) {
        convert(at::view_as_real(to), at::view_as_real(from));
    } else if (complex_to) {
        const at::Tensor parts = at::view_as_real(to);
        convert(parts.select(-1, 0), from);
        parts.select(-1, 1).zero_();
    } else {
        convert(to, complex_from ? at::view_as_real(from).select(-1, 0) : from);
    }
}

} // namespace rvk
