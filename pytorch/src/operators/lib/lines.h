#pragma once
/// Lines along one dimension of contiguous tensors.

#include <ATen/WrapDimUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <cstdint>
#include <limits>

namespace rvk {

/// The lines along a dimension: for a tensor of outer × size × inner elements, line o · inner + i has the
/// elements (o, 0…size-1, i).
struct Lines {
    std::int64_t lines = 1, size = 1, inner = 1;

    /// Throws c10::NotImplementedError for 2^31 or more lines, or elements per line.
    Lines(const at::Tensor& tensor, std::int64_t dim) {
        if (tensor.dim() > 0) {
            dim = at::maybe_wrap_dim(dim, tensor.dim());
            size = tensor.size(dim);
            for (std::int64_t d = dim + 1; d < tensor.dim(); ++d)
                inner *= tensor.size(d);
        }
        lines = size == 0 ? 0 : tensor.numel() / size;
        constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
        TORCH_CHECK_NOT_IMPLEMENTED(lines <= most && size <= most, "2^31 lines or elements per line");
    }
};

/// Calls function(tensor) to write to a contiguous tensor: `output` itself, or a new one that is then copied
/// to it.
template <class F>
void with_contiguous_output(const at::Tensor& output, F&& function) {
    if (output.is_contiguous()) {
        function(output);
        return;
    }
    const at::Tensor contiguous = at::empty(output.sizes(), output.options());
    function(contiguous);
    output.copy_(contiguous);
}

} // namespace rvk
