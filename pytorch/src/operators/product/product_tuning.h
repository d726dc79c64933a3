#pragma once
/// REKINDLE_AUTOTUNE=1: chooses the tiles of products and the split of k by measurement.

#include "product_plan.h"

#include <functional>
#include <string>

namespace rvk {

/// Whether the environment requests tuning.
bool tunes_products();

/// The plan for products of this shape and these layouts on this device and driver. The first such product
/// measures the candidates; the choice is stored, also for later processes. A candidate's result is compared
/// with the default plan's before it is timed, and a wrong one is reported once as a warning. `multiply`
/// queues the product with a plan and writes it to the given tensor. Returns the default plan if the product
/// has values that are not finite, if there is no memory for its results, or if this process has measured too
/// many products. Thread-safe.
ProductPlan tuned_plan(const ProductShape& shape, const std::string& layouts,
                       const std::function<void(const ProductPlan&, const at::Tensor& c)>& multiply);

} // namespace rvk
