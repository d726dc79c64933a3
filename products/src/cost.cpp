#include <rekindle/products/cost.h>

#include <algorithm>
#include <cmath>

namespace rekindle::products {

namespace {

/// The time of two activities that overlap: the longer one hides most of the shorter.
double overlapped(double one, double other, int sharpness) {
    const double most = std::max(one, other), least = std::min(one, other);
    return most <= 0 ? 0 : most * std::pow(1 + std::pow(least / most, sharpness), 1.0 / sharpness);
}

/// The time of workgroups on one compute unit.
struct UnitTime {
    double busy;  ///< seconds of the compute unit per workgroup, with others to hide latency
    double alone; ///< seconds of a workgroup without others

    double of(double groups) const { return overlapped(groups * busy, alone, 3); }
};

UnitTime unit_time(const DeviceParameters& device, const GroupWork& work) {
    // Matrix units and vector units are divided among four schedulers, each of which runs whole subgroups.
    constexpr double schedulers = 4;
    const double subgroups =
        std::ceil(static_cast<double>(work.threads) / std::max(1u, std::min(device.minimum_subgroup, 64u)));
    const double share = std::min(1.0, subgroups / schedulers);
    const double rate = (work.on_units ? device.unit_rate : device.float32_rate) * work.rate;
    const double compute = work.multiply_adds / rate, load = work.loaded_bytes / device.cache_bandwidth;
    const double edges = work.edge_bytes / device.cache_bandwidth;
    return {work.slices * overlapped(compute, load, 4) + edges,
            work.slices * (overlapped(compute / (share * work.rate_alone), load, 4) +
                           work.latency * device.slice_latency) +
                edges + work.converted_bytes / device.cache_bandwidth + device.group_seconds};
}

} // namespace

std::uint32_t resident_groups(const DeviceParameters& device, const GroupWork& work) {
    // Typical of a compute unit of all vendors' GPUs; drivers do not report these limits.
    constexpr std::uint32_t registers = 65536, threads = 1536, most = 16;
    const std::uint32_t shared = 2 * device.shared_bytes;
    return std::clamp(
        std::min({registers / std::max(1u, work.threads * work.registers),
                  threads / std::max(1u, work.threads), shared / std::max(1u, work.shared_bytes)}),
        1u, most);
}

double launch_time(const DeviceParameters& device, const GroupWork& work, double groups,
                   double memory_bytes) {
    constexpr double in_rounds = 0.9; // share of the work that runs in full rounds; the rest overlaps
    const UnitTime time = unit_time(device, work);
    const double resident = resident_groups(device, work), units = std::max(1u, device.compute_units);
    const double most = std::ceil(groups / units); // on the busiest compute unit
    const double rounds = std::floor(most / resident), rest = most - rounds * resident;
    const double quantized = rounds * time.of(resident) + (rest > 0 ? time.of(rest) : 0);
    const double even = std::max(groups / units * time.of(resident) / resident, time.of(1));
    const double computing = in_rounds * quantized + (1 - in_rounds) * even;
    return overlapped(computing, memory_bytes / device.memory_bandwidth, 4);
}

double combine_time(const DeviceParameters& device, std::int64_t parts, double numbers, std::uint32_t bytes) {
    return device.launch_seconds +
           2.0 * static_cast<double>(parts + 1) * numbers * bytes / device.memory_bandwidth;
}

} // namespace rekindle::products
