#pragma once
/// Which networks a device can train, and in which arrangement.

#include "gpu/plan.h"

#include <rekindle/mlp/population.h>
#include <rekindle/runtime/device.h>

#include <cstddef>
#include <span>

namespace rekindle::mlp::gpu {

DeviceLimits limits_of(const runtime::Device& device, GpuShape shape);

/// One TrainingSpec that stands for all members, for plan_population, which reads only settings that they
/// share. Momentum is on if any member uses it.
TrainingSpec shared_training(std::span<const TrainingSpec> members);
/// The model with the highest rate that any member has in each dropout layer, so that a layer which drops in
/// one of them is in the plan of all. Precondition: the members passed check_members.
ModelDescription shared_model(const ModelDescription& model, std::span<const TrainingSpec> members);

/// automatic: latency for fewer members than twice the device's compute units, otherwise throughput. If the
/// driver does not report their number, it is taken as 64 for a discrete or virtual device, 8 for a CPU and
/// 12 for others. Chosen without measuring: the two arrangements sum in different orders, and the same run
/// must give the same bits.
GpuShape chosen_shape(GpuShape requested, const runtime::DeviceInfo& device, std::size_t members);

} // namespace rekindle::mlp::gpu
