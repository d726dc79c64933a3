#include "value_checks.h"

#include "../../dispatch/launch.h"
#include "../../dispatch/structured.h"

#include <rekindle/kernels/families/indexing.h>

#include <algorithm>
#include <bit>
#include <c10/util/Exception.h>
#include <limits>

namespace rvk {

namespace {

/// The bits of a number as an element of the dtype.
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

/// Reports an element whose bits, read as an unsigned number, are not between `low` and `high`. bound: goes
/// into the report.
void report_unless_bits_between(const at::Tensor& tensor, std::uint64_t low, std::uint64_t high, Report kind,
                                std::int64_t bound) {
    if (tensor.numel() == 0)
        return;
    const at::Tensor dense = tensor.contiguous();
    kernels::IndexingParameters p{};
    p.values = address(dense);
    p.report = index_report_address(tensor.device().index());
    p.fill_low = low;
    p.fill_high = high;
    p.ignored = bound;
    p.count = static_cast<std::uint32_t>(dense.numel());
    launch(tensor.device(), kernels::check_bounds, linear_groups(dense.numel(), 256), p, {reads(dense)},
           {.bytes = static_cast<std::uint32_t>(dense.element_size()),
            .operation = static_cast<std::uint32_t>(kind)});
}

} // namespace

void report_unless_probability(const at::Tensor& tensor, Report kind) {
    const auto dtype = tensor.scalar_type();
    TORCH_INTERNAL_ASSERT(at::isFloatingType(dtype));
    report_unless_bits_between(tensor, bits_as(0, dtype), bits_as(1, dtype), kind,
                               static_cast<std::int64_t>(dtype));
}

void report_unless_between(const at::Tensor& tensor, std::int64_t low, std::int64_t high, Report kind) {
    const bool narrow = tensor.scalar_type() == at::kInt;
    TORCH_INTERNAL_ASSERT(narrow || tensor.scalar_type() == at::kLong);
    const std::int64_t most = narrow ? std::numeric_limits<std::int32_t>::max() : high;
    report_unless_bits_between(tensor, static_cast<std::uint64_t>(low),
                               static_cast<std::uint64_t>(std::min(high, most)), kind, high);
}

void assert_nonzero(const at::Tensor& tensor, std::string_view message) {
    TORCH_CHECK(tensor.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
    TORCH_CHECK(tensor.numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
    const at::Tensor flag = tensor.scalar_type() == at::kBool ? tensor : tensor.ne(0);
    report_unless_bits_between(flag, 1, std::numeric_limits<std::uint8_t>::max(), Report::assertion,
                               number_of_message(message));
}

namespace {

void assert_async(const at::Tensor& self) {
    assert_nonzero(self, "Expected Tensor with single nonzero value, but got zero");
}
void assert_async_with_message(const at::Tensor& self, c10::string_view message) {
    assert_nonzero(self, message.empty() ? "Assertion is failed" : std::string_view(message));
}
at::Tensor functional_assert_async(const at::Tensor& self, c10::string_view message,
                                   const at::Tensor& dependency) {
    assert_async_with_message(self, message);
    return dependency.clone();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "_assert_async", &assert_async);
    register_operator(m, "_assert_async.msg", &assert_async_with_message);
    register_operator(m, "_functional_assert_async.msg", &functional_assert_async);
}

} // namespace

} // namespace rvk
