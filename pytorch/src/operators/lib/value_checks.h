#pragma once
/// Kernels that check whether an operand's values are in a range.

#include "../../device/index_report.h"

#include <ATen/core/Tensor.h>
#include <string_view>

namespace rvk {

/// Reports (../device/index_report.h) an element of a floating-point tensor that is not between 0 and 1,
/// including NaN. Asynchronous on the current stream.
void report_unless_probability(const at::Tensor& tensor, Report kind);

/// Reports an element of an int32 or int64 tensor that is not between `low` and `high`, which must not be
/// negative. Asynchronous on the current stream.
void report_unless_between(const at::Tensor& tensor, std::int64_t low, std::int64_t high, Report kind);

/// Reports `message` (RuntimeError) if the only element of the tensor is zero. Throws c10::Error if the
/// tensor does not have exactly one element. Asynchronous on the current stream.
void assert_nonzero(const at::Tensor& tensor, std::string_view message);

} // namespace rvk
