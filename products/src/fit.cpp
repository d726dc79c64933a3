#include <rekindle/products/fit.h>

#include <cmath>

namespace rekindle::products {

double estimate(const DeviceParameters& device, const Sample& sample) {
    return std::visit([&](const auto& shape) { return estimate(device, shape, sample.plan); }, sample.shape);
}

double misfit(const DeviceParameters& device, std::span<const Sample> samples) {
    double sum = 0;
    for (const Sample& sample : samples)
        sum += std::pow(std::log(estimate(device, sample) / sample.seconds), 2);
    return samples.empty() ? 0 : std::sqrt(sum / static_cast<double>(samples.size()));
}

DeviceParameters fit(DeviceParameters start, std::span<const Sample> samples, std::span<const Rate> which) {
    constexpr int most_rounds = 40;
    constexpr double most_change = 16;
    const DeviceParameters first = start;
    double least = misfit(start, samples);
    for (double factor = 2; factor > 1.01; factor = std::sqrt(factor)) {
        bool improved = true;
        for (int round = 0; improved && round < most_rounds; ++round) {
            improved = false;
            for (const Rate& rate : which)
                for (const double by : {factor, 1 / factor}) {
                    DeviceParameters changed = start;
                    changed.*rate.value *= by;
                    const double change = changed.*rate.value / (first.*rate.value);
                    if (change > most_change || change < 1 / most_change)
                        continue;
                    if (const double now = misfit(changed, samples); now < least) {
                        least = now;
                        start = changed;
                        improved = true;
                    }
                }
        }
    }
    return start;
}

} // namespace rekindle::products
