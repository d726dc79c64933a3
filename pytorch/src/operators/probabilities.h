#pragma once
/// The check of operands that are probabilities.

#include "../device/index_report.h"

#include <ATen/core/Tensor.h>

namespace rvk {

/// Reports (../device/index_report.h) an element of a floating-point tensor that is not between 0 and 1,
/// including NaN. Asynchronous on the current stream.
void report_unless_probability(const at::Tensor& tensor, Report kind);

} // namespace rvk
