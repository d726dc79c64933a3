#pragma once
/// Plans for a PyTorch device (products/), chosen by estimate or, with REKINDLE_AUTOTUNE=1, by measurement.

#include "../../device/devices.h"

#include <rekindle/products/planner.h>

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace rvk {

namespace products = rekindle::products;

/// The dtype as an element type of products/. Precondition: number_family(dtype) does not throw.
products::ElementType element_type(at::ScalarType dtype);

/// Whether the user allows sums in float16 (torch.backends.cuda.matmul.allow_fp16_accumulation).
bool may_sum_in_half();

/// The device's planner. The first call calibrates the device if that has not been done before.
const products::Planner& planner(DeviceIndex index);

/// The shape as a key for tuned plans.
std::string key_of(const products::ConvolutionShape& shape);

/// Several ways to compute the same tensors.
struct TunedWork {
    std::string key;                      ///< what is computed; one line, no tab
    std::vector<std::string> names;       ///< of the ways, the default first
    std::function<void(std::size_t)> run; ///< queues one of them
    std::vector<at::Tensor> results;      ///< which each of them overwrites
    double tolerance = 0; ///< the largest difference of a result, relative to its largest number, that
                          ///< another order of summation can cause
};
/// Whether REKINDLE_AUTOTUNE is on and the results are small enough to keep copies of them.
bool is_tuned(const std::vector<at::Tensor>& results);
/// Returns the index of the fastest way; measures them at the first call with this key on this device and
/// driver. Returns 0 without measuring if the results are not finite, or if there is no memory to compare
/// them.
std::size_t tuned(const TunedWork& work);
/// The tolerance for sums of `length` products.
double sum_tolerance(at::ScalarType dtype, std::int64_t length);

} // namespace rvk
