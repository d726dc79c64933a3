#pragma once
/// Operands whose values an operator does not allow: indexes and classes out of range, probabilities outside
/// 0 to 1, repeats that are negative or do not add up. A kernel that finds such a value records it and
/// accesses no memory with it; nothing waits for the record. The next synchronization of the device, or the
/// next copy to the host, raises an error, like CUDA's device-side assertions, but the device stays usable.

#include "devices.h"

#include <cstdint>
#include <string_view>

namespace rvk {

/// The kinds of reports. Those that kernels/include/rekindle/kernels/values.def lists have the same numbers
/// there.
enum class Report : std::uint32_t {
    index = 1,                ///< IndexError
    target = 2,               ///< IndexError: a class of a loss
    bernoulli = 3,            ///< RuntimeError: a probability
    binary_cross_entropy = 4, ///< RuntimeError: an input of the loss
    repeats = 5,              ///< RuntimeError: a negative number of repeats
    output_size = 6,          ///< RuntimeError: repeats that do not add up to output_size
    assertion = 7             ///< RuntimeError: an assertion; its bound is the number of a message
};

/// Returns the number that identifies a message in reports of kind `assertion`. Equal messages share a
/// number. Only the latest 1024 distinct messages are kept. Thread-safe.
std::int64_t number_of_message(std::string_view message);

/// The memory that the device's kernels report to: three int64 (a Report or 0, the value or its bits, its
/// bound or dtype).
std::uint64_t index_report_address(DeviceIndex index);

/// Throws c10::IndexError or c10::Error if completed work has reported something since the last call.
void check_index_report(DeviceIndex index);

/// Waits for all streams of the device, then calls check_index_report; does nothing if the device is not
/// open. Throws c10::IndexError for a device that does not exist.
void synchronize(DeviceIndex index);

} // namespace rvk
