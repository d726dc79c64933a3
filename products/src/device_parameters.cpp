#include <rekindle/products/device_parameters.h>

#include <charconv>
#include <cmath>
#include <cstdio>

namespace rekindle::products {

void set_default_rates(DeviceParameters& p) {
    p.float32_rate = 0.167e12;
    p.wide_rate = 0.239e12;
    p.float16_rate = p.float32_rate;
    p.unit_rate = 1.35e12;
    p.cache_bandwidth = 43e9;
    p.memory_bandwidth = 37e9 * p.compute_units;
    p.slice_latency = 0.355e-6;
    p.group_seconds = 0.1e-6;
    p.launch_seconds = 8.5e-6;
}

DeviceParameters default_parameters(const runtime::DeviceInfo& device, kernels::Features usable) {
    constexpr std::uint32_t usual_compute_units = 64; // if the driver does not report them
    const runtime::Capabilities& can = device.can;
    DeviceParameters parameters{.claimed = can.features,
                                .usable = usable,
                                .minimum_subgroup = can.minimum_subgroup,
                                .maximum_subgroup = can.maximum_subgroup,
                                .shared_bytes = can.shared_bytes,
                                .compute_units =
                                    can.compute_units != 0 ? can.compute_units : usual_compute_units,
                                .is_cpu = device.type == runtime::DeviceType::cpu};
    set_default_rates(parameters);
    if (parameters.is_cpu)
        parameters.wide_rate /= 2;
    return parameters;
}

std::string rates_text(const DeviceParameters& parameters) {
    std::string text;
    for (const Rate& rate : rates) {
        char number[32];
        std::snprintf(number, sizeof number, "%.6g", parameters.*rate.value);
        text += (text.empty() ? "" : " ") + std::string(rate.name) + "=" + number;
    }
    return text;
}

std::string text_of(const DeviceParameters& p) {
    return "claimed=" + std::to_string(p.claimed.bits()) + " usable=" + std::to_string(p.usable.bits()) +
           " minimum_subgroup=" + std::to_string(p.minimum_subgroup) +
           " maximum_subgroup=" + std::to_string(p.maximum_subgroup) +
           " shared_bytes=" + std::to_string(p.shared_bytes) +
           " compute_units=" + std::to_string(p.compute_units) + " " + rates_text(p);
}

bool read_rates(DeviceParameters& parameters, std::string_view text) {
    DeviceParameters read = parameters;
    for (const Rate& rate : rates) {
        const std::string key = std::string(rate.name) + "=";
        const std::size_t at = text.starts_with(key) ? 0 : text.find(" " + key);
        if (at == std::string_view::npos)
            return false;
        const char* const first = text.data() + at + (at == 0 ? 0 : 1) + key.size();
        double& value = read.*rate.value;
        const auto [end, error] = std::from_chars(first, text.data() + text.size(), value);
        if (error != std::errc{} || !std::isfinite(value) || value <= 0)
            return false;
    }
    parameters = read;
    return true;
}

} // namespace rekindle::products
