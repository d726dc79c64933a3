#include "normal.h"

#include <cmath>
#include <numbers>

namespace rekindle::research {

double normal_distribution(double z) noexcept {
    return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

double normal_quantile(double probability) noexcept {
    if (probability > 0.5)
        return -normal_quantile(1 - probability);
    // Abramowitz and Stegun, 26.2.23, is within 4.5e-4; three Halley steps refine it to double precision.
    const double t = std::sqrt(-2 * std::log(probability));
    double z =
        (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
    for (int step = 0; step < 3; ++step) {
        const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
        const double ratio = (normal_distribution(z) - probability) / density;
        z -= ratio / (1 + 0.5 * z * ratio);
    }
    return z;
}

} // namespace rekindle::research
