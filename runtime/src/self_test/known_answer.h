#pragma once
/// Kernels with their inputs and expected results. The answers are computed on the host from the definition
/// of each operation; for floating point with the tolerances of the Vulkan specification ("Precision and
/// Operation of SPIR-V Instructions").

#include <rekindle/kernels/kernel.h>
#include <rekindle/runtime/device.h>
#include <rekindle/runtime/stream.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace rekindle::runtime {

struct KnownAnswer {
    std::string name; ///< name of the row: "subgroup operations, size 32"
    const kernels::Kernel* kernel = nullptr;
    std::vector<kernels::ConstantValue> constants{};
    kernels::Features disables{}; ///< if the answer is wrong; empty: the device is refused
    bool is_property = false;     ///< another answer is not a failure: the device lacks what `disables` names
    Groups groups{};
    std::uint32_t count = 0; ///< work items, for the kernel's parameters
    std::vector<std::byte> input{};
    std::vector<std::byte> output{}; ///< initial contents of the output
    /// Makes the kernel's parameters from the addresses of input and output; empty: SelftestParameters.
    std::function<std::vector<std::byte>(std::uint64_t, std::uint64_t)> parameters{};
    /// What is wrong with the output, "" if nothing is.
    std::function<std::string(std::span<const std::byte>)> mistake{};
};

/// Every row for a device with these capabilities, including rows for features that it does not claim, in a
/// fixed order.
std::vector<KnownAnswer> known_answers(const Capabilities& can);

// The parts of the list.
void add_float_answers(std::vector<KnownAnswer>& list);
void add_integer_answers(std::vector<KnownAnswer>& list);
void add_narrow_answers(std::vector<KnownAnswer>& list);
void add_matrix_answers(std::vector<KnownAnswer>& list, const Capabilities& can);
void add_workgroup_answers(std::vector<KnownAnswer>& list, const Capabilities& can);

/// The same as selftest.slang's mix().
constexpr std::uint32_t mix(std::uint32_t x) {
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

template <kernels::ConstantsStruct C>
std::vector<kernels::ConstantValue> list_of(const C& constants) {
    const auto list = constants.list();
    return {list.begin(), list.end()};
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<T> values_of(std::span<const std::byte> bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
}

/// Bytes that no kernel would leave behind by chance.
std::vector<std::byte> unwritten(std::size_t bytes);

/// The expected floating-point result, within `tolerance`.
struct Number {
    double value = 0, tolerance = 0;
};
/// The distance between neighboring numbers at `value`, for a significand of that many bits (24: float32).
double unit_in_last_place(double value, int bits);

/// "a / b of item 17 is 1.5, not 1.25; 3 of 256 results are wrong". `operations`: their names, in the order
/// in which they repeat; at least one.
std::string mistake_in(std::span<const double> found, std::span<const Number> expected,
                       std::span<const char* const> operations);
std::string mistake_in(std::span<const std::uint64_t> found, std::span<const std::uint64_t> expected,
                       std::span<const char* const> operations);

/// For outputs of T words, each of which must be equal to the expected one.
template <class T>
std::function<std::string(std::span<const std::byte>)> must_be(const std::vector<T>& expected,
                                                               std::vector<const char*> operations) {
    std::vector<std::uint64_t> words(expected.begin(), expected.end());
    return [words = std::move(words), operations = std::move(operations)](std::span<const std::byte> output) {
        const std::vector<T> found = values_of<T>(output);
        return mistake_in(std::vector<std::uint64_t>(found.begin(), found.end()), words, operations);
    };
}
/// For outputs of T (float or double), each of which must be close to the expected one.
template <class T>
std::function<std::string(std::span<const std::byte>)> must_be_near(std::vector<Number> expected,
                                                                    std::vector<const char*> operations) {
    return [expected = std::move(expected),
            operations = std::move(operations)](std::span<const std::byte> output) {
        const std::vector<T> found = values_of<T>(output);
        return mistake_in(std::vector<double>(found.begin(), found.end()), expected, operations);
    };
}

/// Workgroups of 64 for that many items.
constexpr Groups groups_of_64(std::uint32_t items) {
    return {(items + 63) / 64, 1, 1};
}

} // namespace rekindle::runtime
