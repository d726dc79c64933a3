#pragma once
/// Populations on GPUs: opens devices, refuses jobs with the reason, spreads members by speed.

#include <rekindle/mlp/population.h>
#include <rekindle/runtime/device.h>
#include <rekindle/trainer/training_job.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// An opened GPU that accepts the job.
struct OpenedDevice {
    runtime::DeviceInfo info;
    std::shared_ptr<runtime::Device> device;
};

/// Throws Error (usage) with the reason if the device cannot train the job, or the host lacks memory for it.
void require_acceptance(const OpenedDevice& device, const TrainingJob& job);
std::unique_ptr<mlp::Population> population_on(const OpenedDevice& device, const TrainingJob& job);
/// The members spread over the devices by their measured speed; fewer devices when there are fewer members.
std::unique_ptr<mlp::Population> spread_over(std::span<const OpenedDevice> devices, const TrainingJob& job);

/// Divides `members` in proportion to `speeds`, at least one each. Precondition: members >= speeds.size() >
/// 0.
std::vector<std::size_t> shares_of(std::size_t members, std::span<const double> speeds);

/// "NVIDIA 550.54.15".
std::string driver_of(const runtime::DeviceInfo& info);

} // namespace rekindle::trainer
