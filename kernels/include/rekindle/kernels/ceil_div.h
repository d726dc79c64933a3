#pragma once
#include <concepts>
#include <type_traits>

namespace rekindle::kernels {

/// dividend / divisor, rounded up: how many workgroups of `divisor` elements cover `dividend` elements.
/// dividend >= 0 and divisor > 0; no intermediate value overflows.
template <std::integral Dividend, std::integral Divisor>
[[nodiscard]] constexpr std::common_type_t<Dividend, Divisor> ceil_div(Dividend dividend, Divisor divisor) {
    using Result = std::common_type_t<Dividend, Divisor>;
    const auto a = static_cast<Result>(dividend), b = static_cast<Result>(divisor);
    return static_cast<Result>(a / b + (a % b != 0));
}

} // namespace rekindle::kernels
