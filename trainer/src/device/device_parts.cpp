#include "device_parts.h"

#include "fit/memory.h"

#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace rekindle::trainer {

std::string driver_of(const runtime::DeviceInfo& info) {
    return info.driver_info.empty() ? info.driver_name
                                    : fmt::format("{} {}", info.driver_name, info.driver_info);
}

void require_acceptance(const OpenedDevice& device, const TrainingJob& job) {
    require_memory(job.model, job.members.size(), job.epochs, TrainingDevice::gpu);
    if (const std::string reason = mlp::gpu_refusal(*device.device, job.model, job.members); !reason.empty())
        throw usage_error(reason).at(device.info.address()).hint("--device cpu trains it.");
}

std::unique_ptr<mlp::Population> population_on(const OpenedDevice& device, const TrainingJob& job) {
    return mlp::gpu_population(device.device, job.model, job.members);
}

std::vector<std::size_t> shares_of(std::size_t members, std::span<const double> speeds) {
    const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
    std::vector<std::size_t> shares;
    std::size_t given = 0;
    double exact_end = 0;
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        exact_end += static_cast<double>(members) *
                     (sum > 0 ? speeds[i] / sum : 1.0 / static_cast<double>(speeds.size()));
        const std::size_t others = speeds.size() - 1 - i; // each of which gets at least one
        const std::size_t end =
            i + 1 == speeds.size() ? members : static_cast<std::size_t>(std::llround(exact_end));
        shares.push_back(std::clamp(end, given + 1, members - others) - given);
        given += shares.back();
    }
    return shares;
}

std::unique_ptr<mlp::Population> spread_over(std::span<const OpenedDevice> devices, const TrainingJob& job) {
    devices = devices.first(std::min(devices.size(), job.members.size()));
    if (devices.size() == 1)
        return population_on(devices.front(), job);
    std::vector<double> speeds;
    for (const OpenedDevice& device : devices) {
        // Measured with an equal share of the members, about as many as it will train.
        const std::vector members(job.members.begin(),
                                  job.members.begin() +
                                      static_cast<std::ptrdiff_t>(job.members.size() / devices.size()));
        const auto population = mlp::gpu_population(device.device, job.model, members);
        speeds.push_back(mlp::measure_speed(*population, job.batch_size).network_steps_per_second);
    }
    std::vector<mlp::PopulationPart> parts;
    auto first = job.members.begin();
    const auto shares = shares_of(job.members.size(), speeds);
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const auto last = first + static_cast<std::ptrdiff_t>(shares[i]);
        parts.push_back({shares[i], mlp::gpu_population(devices[i].device, job.model, {first, last})});
        first = last;
    }
    return mlp::joined_population(std::move(parts));
}

} // namespace rekindle::trainer
