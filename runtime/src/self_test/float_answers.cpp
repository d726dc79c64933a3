#include "self_test/known_answer.h"

#include <rekindle/kernels/families/selftest.h>

#include <algorithm>
#include <cmath>

namespace rekindle::runtime {

namespace {

constexpr std::uint32_t float_items = 256;

double ulp(double value) {
    return unit_in_last_place(value, 24);
}

/// ±1.m × 2^e with e from -12 to 12, so that no result below is subnormal or infinite.
float number(std::uint32_t index) {
    const std::uint32_t random = mix(index + 1);
    const float significand = 1 + static_cast<float>(random >> 9) / 8388608.0f;
    const int exponent = static_cast<int>(mix(random) % 25) - 12;
    return std::ldexp((random & 1) != 0 ? -significand : significand, exponent);
}

KnownAnswer arithmetic() {
    std::vector<float> input(2 * float_items);
    std::vector<Number> expected;
    for (std::uint32_t i = 0; i < float_items; ++i) {
        const double a = input[2 * i] = number(2 * i);
        const double b = input[2 * i + 1] = number(2 * i + 1);
        // Results that are correctly rounded, in either direction, differ by less than one ulp.
        expected.push_back({a + b, ulp(a + b)});
        expected.push_back({a - b, ulp(a - b)});
        expected.push_back({a * b, ulp(a * b)});
        expected.push_back({a / b, 2.5 * ulp(a / b)});
        expected.push_back({a * b + a, ulp(a * b) + ulp(a * b + a)}); // the product may be rounded in between
        expected.push_back({std::sqrt(std::abs(a)), 5 * ulp(std::sqrt(std::abs(a)))}); // as 1 / inversesqrt
        expected.push_back({std::min(a, b), 0});
        expected.push_back({std::max(a, b), 0});
    }
    return {.name = "float32 arithmetic",
            .kernel = &kernels::selftest_float.kernel,
            .groups = groups_of_64(float_items),
            .count = float_items,
            .input = bytes_of(input),
            .output = unwritten(expected.size() * sizeof(float)),
            .mistake = must_be_near<float>(expected, {"a + b", "a - b", "a * b", "a / b", "fma(a, b, a)",
                                                      "sqrt(|a|)", "min(a, b)", "max(a, b)"})};
}

KnownAnswer functions() {
    std::vector<float> input(float_items);
    std::vector<Number> expected;
    for (std::uint32_t i = 0; i < float_items; ++i) {
        input[i] = 0.01f + 20 * static_cast<float>(mix(i + 77) >> 8) / 16777216.0f;
        const double a = input[i];
        expected.push_back({std::exp(a), (3 + 2 * a) * ulp(std::exp(a))});
        expected.push_back({std::exp(-a), (3 + 2 * a) * ulp(std::exp(-a))});
        const double log = std::log(a);
        expected.push_back({log, a >= 0.5 && a <= 2 ? std::ldexp(1.0, -21) : 3 * ulp(log)});
        expected.push_back({1 / std::sqrt(a), 2 * ulp(1 / std::sqrt(a))});
        expected.push_back({std::floor(a), 0});
        expected.push_back({1 / a, 2.5 * ulp(1 / a)});
    }
    return {.name = "float32 functions",
            .kernel = &kernels::selftest_functions.kernel,
            .groups = groups_of_64(float_items),
            .count = float_items,
            .input = bytes_of(input),
            .output = unwritten(expected.size() * sizeof(float)),
            .mistake = must_be_near<float>(expected,
                                           {"exp(a)", "exp(-a)", "log(a)", "rsqrt(a)", "floor(a)", "1 / a"})};
}

KnownAnswer vectors() {
    std::vector<float> input(4 * float_items);
    for (std::uint32_t i = 0; i < input.size(); ++i)
        input[i] = number(i + 5000);
    std::vector<Number> expected;
    for (std::size_t i = input.size(); i-- > 0;)
        expected.push_back({static_cast<double>(input[i]), 0});
    return {.name = "vector loads and stores",
            .kernel = &kernels::selftest_vectors.kernel,
            .groups = groups_of_64(float_items),
            .count = float_items,
            .input = bytes_of(input),
            .output = unwritten(expected.size() * sizeof(float)),
            .mistake = must_be_near<float>(expected, {"x", "y", "z", "w"})};
}

} // namespace

void add_float_answers(std::vector<KnownAnswer>& list) {
    list.push_back(arithmetic());
    list.push_back(functions());
    list.push_back(vectors());
}

} // namespace rekindle::runtime
