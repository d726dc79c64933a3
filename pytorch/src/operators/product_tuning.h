#pragma once
/// REKINDLE_AUTOTUNE=1: tiles and parts of products are chosen by measurement.

#include "product_plan.h"

#include <functional>
#include <string>

namespace rvk {

/// Whether the environment asks for it.
bool tunes_products();

/// The plan for products of this shape and these layouts on this device and driver: measured at the first
/// such product, then remembered, also by later processes. Candidates are compared with the default plan's
/// result before they are timed, and a wrong one is reported once as a warning. `multiply` queues the product
/// by a plan into C's place (which it may overwrite). The default plan if the product has values that are not
/// finite, if there is no memory for its results, or if too many products have been measured in this process.
/// Thread-safe.
ProductPlan tuned_plan(const ProductShape& shape, const std::string& layouts,
                       const std::function<void(const ProductPlan&, const at::Tensor& c)>& multiply);

} // namespace rvk
