#include "gpu/choice.h"

#include "cpu/plan.h"
#include "population/check.h"

#include <rekindle/foundation/error.h>

#include <algorithm>
#include <string>
#include <vector>

namespace rekindle::mlp {

namespace gpu {

DeviceLimits limits_of(const runtime::Device& device, GpuShape shape) {
    constexpr std::uint32_t amd = 0x1002;
    const runtime::DeviceInfo& info = device.info();
    // On AMD's GPUs, shared memory limits products before arithmetic does. GCN, whose subgroups always have
    // 64 lanes, has too few registers for divided products. CPU drivers use one form in each shape, so that
    // both run where there is no GPU.
    const bool divides = (info.vendor_id == amd && info.can.minimum_subgroup <= 32) ||
                         (info.type == runtime::DeviceType::cpu && shape == GpuShape::latency);
    return {info.can.shared_bytes, info.can.maximum_threads, divides};
}

TrainingSpec shared_training(std::span<const TrainingSpec> members) {
    TrainingSpec shared = members.front();
    for (const TrainingSpec& spec : members)
        if (spec.optimizer.momentum != 0)
            shared.optimizer.momentum = spec.optimizer.momentum;
    return shared;
}

ModelDescription shared_model(const ModelDescription& model, std::span<const TrainingSpec> members) {
    const std::vector<double> own = model.dropout_rates();
    std::vector<double> highest(own.size(), 0);
    for (const TrainingSpec& spec : members) {
        const std::vector<double>& rates = spec.dropout_rates.empty() ? own : spec.dropout_rates;
        for (std::size_t i = 0; i < own.size(); ++i)
            highest[i] = std::max(highest[i], rates[i]);
    }
    return model.with_dropout_rates(highest);
}

namespace {

std::size_t compute_units(const runtime::DeviceInfo& device) {
    if (device.can.compute_units != 0)
        return device.can.compute_units;
    switch (device.type) {
    case runtime::DeviceType::discrete:
    case runtime::DeviceType::virtual_gpu:
        return 64;
    case runtime::DeviceType::integrated:
    case runtime::DeviceType::other:
        return 12;
    case runtime::DeviceType::cpu:
        return 8;
    }
    return 12;
}

} // namespace

GpuShape chosen_shape(GpuShape requested, const runtime::DeviceInfo& device, std::size_t members) {
    if (requested != GpuShape::automatic)
        return requested;
    return members < 2 * compute_units(device) ? GpuShape::latency : GpuShape::throughput;
}

} // namespace gpu

std::string gpu_refusal(const runtime::Device& device, const ModelDescription& model,
                        std::span<const TrainingSpec> members) {
    population::check_members(members, model);
    const cpu::Plan fits(model, members.front()); // throws if model and loss do not match
    const GpuShape shape = gpu::chosen_shape(GpuShape::automatic, device.info(), members.size());
    return gpu::plan_population(gpu::shared_model(model, members), gpu::shared_training(members), 1,
                                gpu::limits_of(device, shape), shape)
        .refusal;
}

} // namespace rekindle::mlp
