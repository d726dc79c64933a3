#pragma once
/// Checks of operands whose values must be in a range.

#include "../device/index_report.h"

#include <ATen/core/Tensor.h>

namespace rvk {

/// Reports (../device/index_report.h) an element of a floating-point tensor that is not between 0 and 1,
/// including NaN. Asynchronous on the current stream.
void report_unless_probability(const at::Tensor& tensor, Report kind);

/// Reports an element of an int32 or int64 tensor that is not between these bounds, which are not negative.
/// Asynchronous on the current stream.
void report_unless_between(const at::Tensor& tensor, std::int64_t low, std::int64_t high, Report kind);

} // namespace rvk
