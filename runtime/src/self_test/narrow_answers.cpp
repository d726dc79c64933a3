#include "self_test/known_answer.h"

#include <rekindle/kernels/families/selftest_float16.h>
#include <rekindle/kernels/families/selftest_float64.h>
#include <rekindle/kernels/families/selftest_storage16.h>
#include <rekindle/kernels/families/selftest_storage8.h>

#include <algorithm>
#include <cmath>

namespace rekindle::runtime {

namespace {

using kernels::Feature;

constexpr std::uint32_t narrow_items = 256;

double half_ulp(double value) {
    return std::max(unit_in_last_place(value, 11), std::ldexp(1.0, -24));
}

KnownAnswer half_arithmetic() {
    const auto number = [](std::uint32_t index) { // sixteenths with 10 bits: exact in float16
        return static_cast<float>(static_cast<int>(mix(index) % 2047) - 1023) / 16;
    };
    std::vector<float> input;
    std::vector<Number> expected;
    for (std::uint32_t i = 0; i < narrow_items; ++i) {
        const double a = static_cast<double>(number(2 * i));
        const float given_b = number(2 * i + 1);
        const double b = given_b == 0 ? 0.5 : static_cast<double>(given_b);
        input.insert(input.end(), {static_cast<float>(a), static_cast<float>(b)});
        expected.push_back({a + b, half_ulp(a + b)});
        expected.push_back({a - b, half_ulp(a - b)});
        expected.push_back({a * b, half_ulp(a * b)});
        expected.push_back({a / b, 2.5 * half_ulp(a / b)});
        expected.push_back({std::max(a, b), 0});
    }
    return {.name = "float16 arithmetic",
            .kernel = &kernels::selftest_half.kernel,
            .disables = {Feature::float16_arithmetic, Feature::cooperative_matrix},
            .groups = groups_of_64(narrow_items),
            .count = narrow_items,
            .input = bytes_of(input),
            .output = unwritten(expected.size() * sizeof(float)),
            .mistake = must_be_near<float>(expected, {"a + b", "a - b", "a * b", "a / b", "max(a, b)"})};
}

KnownAnswer half_conversion() {
    std::vector<float> input;
    std::vector<Number> expected;
    for (std::uint32_t i = 0; i < narrow_items; ++i) {
        // Magnitudes from 2^-10 to 2^15: within float16's normal range.
        const float significand = 1 + static_cast<float>(mix(i + 3) >> 9) / 8388608.0f;
        const float value =
            std::ldexp(i % 2 == 0 ? significand : -significand, static_cast<int>(i % 25) - 10);
        input.push_back(value);
        expected.push_back({static_cast<double>(value), half_ulp(static_cast<double>(value))});
    }
    return {.name = "float32 to float16 and back",
            .kernel = &kernels::selftest_half_conversion.kernel,
            .disables = {Feature::float16_arithmetic, Feature::cooperative_matrix},
            .groups = groups_of_64(narrow_items),
            .count = narrow_items,
            .input = bytes_of(input),
            .output = unwritten(expected.size() * sizeof(float)),
            .mistake = must_be_near<float>(expected, {"float16"})};
}

KnownAnswer double_arithmetic() {
    const auto number = [](std::uint32_t index) {
        const double significand = 1 + std::ldexp(static_cast<double>(mix(index)), -32) +
                                   std::ldexp(static_cast<double>(mix(~index) >> 12), -52);
        return std::ldexp(index % 3 == 0 ? -significand : significand,
                          static_cast<int>(mix(index) % 41) - 20);
    };
    const auto ulp = [](double value) { return unit_in_last_place(value, 53); };
    std::vector<double> input;
    std::vector<Number> expected;
    for (std::uint32_t i = 0; i < narrow_items; ++i) {
        const double a = number(2 * i), b = number(2 * i + 1);
        input.insert(input.end(), {a, b});
        expected.push_back({a + b, ulp(a + b)});
        expected.push_back({a - b, ulp(a - b)});
        expected.push_back({a * b, ulp(a * b)});
        expected.push_back({a / b, 3 * ulp(a / b)});
        expected.push_back({std::sqrt(std::abs(a)), 5 * ulp(std::sqrt(std::abs(a)))});
        expected.push_back({a, unit_in_last_place(a, 24)});
    }
    return {.name = "float64 arithmetic",
            .kernel = &kernels::selftest_double.kernel,
            .disables = Feature::float64,
            .groups = groups_of_64(narrow_items),
            .count = narrow_items,
            .input = bytes_of(input),
            .output = unwritten(expected.size() * sizeof(double)),
            .mistake = must_be_near<double>(
                expected, {"a + b", "a - b", "a * b", "a / b", "sqrt(|a|)", "float32 of a"})};
}

template <class Word>
KnownAnswer narrow_storage(const char* name, const kernels::Kernel& kernel, kernels::Features disables,
                           std::uint32_t factor, std::uint32_t addend) {
    const std::uint32_t count = narrow_items + 3; // ends within a 32-bit word
    std::vector<Word> input(count), expected(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        input[i] = static_cast<Word>(mix(i + 31));
        expected[count - 1 - i] = static_cast<Word>(input[i] * factor + addend);
    }
    return {.name = name,
            .kernel = &kernel,
            .disables = disables,
            .groups = groups_of_64(count),
            .count = count,
            .input = bytes_of(input),
            .output = unwritten(count * sizeof(Word)),
            .mistake = must_be<Word>(expected, {"number"})};
}

} // namespace

void add_narrow_answers(std::vector<KnownAnswer>& list) {
    list.push_back(half_arithmetic());
    list.push_back(half_conversion());
    list.push_back(double_arithmetic());
    list.push_back(narrow_storage<std::uint16_t>("16-bit loads and stores", kernels::selftest_16bit.kernel,
                                                 {Feature::storage_16bit, Feature::cooperative_matrix}, 3,
                                                 1));
    list.push_back(narrow_storage<std::uint8_t>("8-bit loads and stores", kernels::selftest_8bit.kernel,
                                                {Feature::storage_8bit, Feature::int8_arithmetic}, 5, 3));
}

} // namespace rekindle::runtime
