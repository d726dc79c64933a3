#pragma once
/// The plans of one device.

#include <rekindle/products/plan.h>
#include <rekindle/runtime/device.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace rekindle::products {

/// Chooses plans and remembers them: programs that train repeat their shapes, and the estimates would take
/// longer than a launch. A plan depends only on the shape and the device's parameters. Thread-safe.
class Planner {
  public:
    explicit Planner(const DeviceParameters& device);

    /// Uses the rates that were measured on this device and driver (calibration.h). If none are stored, it
    /// measures them now, which takes up to a second and compiles kernels.
    static Planner calibrated(runtime::Device& device, const runtime::LogCallback& log);

    const DeviceParameters& device() const noexcept { return device_; }

    Plan plan(const ProductShape& shape) const;
    /// Without matrix units, and on them; empty if there are none for this type.
    Plan plan(const ConvolutionShape& shape) const;
    std::optional<Plan> unit_plan(const ConvolutionShape& shape) const;
    /// As in plan.h.
    bool units_are_faster(const ConvolutionShape& shape, double moved_bytes) const;

  private:
    DeviceParameters device_;
    std::uint64_t number_; ///< unique among the planners of the process
};

/// Returns the plans that tuning measures: `plan`, then the others of `possible`.
std::vector<Plan> plans_to_try(const Plan& plan, std::vector<Plan> possible);
/// The same for a product. Leaves out plans that need several launches for the batch.
std::vector<Plan> plans_to_try(const DeviceParameters& device, const ProductShape& shape, const Plan& plan);

} // namespace rekindle::products
