#pragma once
/// The standard normal distribution.

namespace rekindle::research {

double normal_distribution(double z) noexcept;
/// Φ⁻¹. Precondition: 0 < probability < 1.
double normal_quantile(double probability) noexcept;

} // namespace rekindle::research
