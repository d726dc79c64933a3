#include "probabilities.h"

#include "../dispatch/launch.h"

#include <rekindle/kernels/families/indexing.h>

#include <bit>
#include <c10/util/Exception.h>

namespace rvk {

namespace {

/// The bits of a number as an element of that dtype.
std::uint64_t bits_as(double value, at::ScalarType dtype) {
    switch (dtype) {
    case at::kHalf:
        return c10::Half(static_cast<float>(value)).x;
    case at::kBFloat16:
        return c10::BFloat16(static_cast<float>(value)).x;
    case at::kFloat:
        return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    default:
        return std::bit_cast<std::uint64_t>(value);
    }
}

} // namespace

void report_unless_probability(const at::Tensor& tensor, Report kind) {
    const auto dtype = tensor.scalar_type();
    TORCH_INTERNAL_ASSERT(at::isFloatingType(dtype));
    if (tensor.numel() == 0)
        return;
    const at::Tensor dense = tensor.contiguous();
    kernels::IndexingParameters p{};
    p.values = address(dense);
    p.report = index_report_address(tensor.device().index());
    p.fill_low = bits_as(0, dtype);
    p.fill_high = bits_as(1, dtype);
    p.ignored = static_cast<std::int64_t>(dtype);
    p.count = static_cast<std::uint32_t>(dense.numel());
    launch(tensor.device(), kernels::check_bounds, linear_groups(dense.numel(), 256), p, {reads(dense)},
           {.bytes = static_cast<std::uint32_t>(dense.element_size()),
            .operation = static_cast<std::uint32_t>(kind)});
}

} // namespace rvk
