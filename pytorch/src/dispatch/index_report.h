#pragma once
/// Operands whose values an operator does not allow: indexes and classes out of range, probabilities that are
/// none. A kernel that meets one touches nothing for it and writes it down; nothing waits for that. The next
/// synchronization of the device, and every copy to the host, raises an error, as CUDA's device-side
/// assertions do, and the device stays usable.

#include "../device/devices.h"

#include <ATen/core/Tensor.h>
#include <cstdint>

namespace rvk {

/// What is reported; the first two are numbers of kernels/slang/report.slang.
enum class Report : std::uint32_t {
    index = 1,               ///< IndexError
    target = 2,              ///< IndexError: a class of a loss
    bernoulli = 3,           ///< RuntimeError: a probability
    binary_cross_entropy = 4 ///< RuntimeError: an input of the loss
};

/// Where kernels of the device report: three int64 (a Report or 0, the value, its bound).
std::uint64_t index_report_address(DeviceIndex index);

/// Throws c10::IndexError or c10::Error when completed work has reported something since the last call.
void check_index_report(DeviceIndex index);

/// Reports an element of a floating-point tensor that is not between 0 and 1, NaN included.
void report_unless_probability(const at::Tensor& tensor, Report kind);

} // namespace rvk
