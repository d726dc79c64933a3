#include "verify/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace rekindle::mlp::verify {

namespace {

/// A NaN with a distinctive bit pattern in all types.
constexpr std::uint32_t unwritten = 0x7fcd7fcd;

/// For a number that float16 represents exactly as a normal number or zero.
std::uint16_t to_float16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    const std::uint32_t sign = bits >> 16 & 0x8000u;
    return static_cast<std::uint16_t>(magnitude == 0 ? sign : sign | ((magnitude >> 13) - (112u << 10)));
}

float from_float16(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float magnitude = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
    if (exponent == 0)
        magnitude = std::ldexp(static_cast<float>(fraction), -24);
    else if (exponent == 31)
        magnitude = fraction == 0 ? INFINITY : NAN;
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

std::uint16_t to_16_bits(float value, ElementType type) {
    return type == ElementType::float16
               ? to_float16(value)
               : static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

float from_16_bits(std::uint16_t bits, ElementType type) {
    return type == ElementType::float16 ? from_float16(bits)
                                        : std::bit_cast<float>(std::uint32_t{bits} << 16);
}

template <class T>
std::vector<T> downloaded(runtime::Stream& stream, runtime::DevicePointer first, std::size_t count) {
    std::vector<T> numbers(count);
    if (count != 0)
        stream.download(std::as_writable_bytes(std::span(numbers)), first);
    stream.synchronize();
    return numbers;
}

} // namespace

std::vector<float> random_numbers(std::size_t count, ElementType type, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> values(count);
    const std::uint32_t steps = type == ElementType::float16 ? 512 : 128;
    for (float& value : values) {
        const auto number = static_cast<std::uint32_t>(random());
        value = type == ElementType::float32
                    ? static_cast<float>(number) / 2147483648.0f - 1.0f
                    : (static_cast<float>(number % (2 * steps + 1)) - static_cast<float>(steps)) /
                          static_cast<float>(steps);
    }
    return values;
}

DeviceNumbers::DeviceNumbers(runtime::Device& device, runtime::Stream& stream, ElementType type,
                             std::size_t count, std::uint32_t offset)
    : type_(type), count_(count), offset_(offset) {
    const std::uint64_t bytes = ((count + offset) * bytes_of(type) + 3) / 4 * 4;
    buffer_ = device.allocator().allocate(bytes, runtime::MemoryKind::device, &stream);
    if (bytes != 0)
        stream.fill(buffer_.pointer(), bytes, unwritten);
}

DeviceNumbers::DeviceNumbers(runtime::Device& device, runtime::Stream& stream, ElementType type,
                             std::span<const float> values, std::uint32_t offset)
    : DeviceNumbers(device, stream, type, values.size(), offset) {
    if (values.empty())
        return;
    if (type == ElementType::float32) {
        stream.upload(first(), std::as_bytes(values));
        return;
    }
    std::vector<std::uint16_t> numbers(values.size());
    std::ranges::transform(values, numbers.begin(), [&](float value) { return to_16_bits(value, type); });
    stream.upload(first(), std::as_bytes(std::span(numbers)));
}

HostNumbers DeviceNumbers::download(runtime::Stream& stream) const {
    HostNumbers host{std::vector<float>(count_), std::vector<bool>(count_)};
    if (type_ == ElementType::float32) {
        const auto bits = downloaded<std::uint32_t>(stream, first(), count_);
        for (std::size_t i = 0; i < count_; ++i) {
            host.values[i] = std::bit_cast<float>(bits[i]);
            host.written[i] = bits[i] != unwritten;
        }
        return host;
    }
    const auto bits = downloaded<std::uint16_t>(stream, first(), count_);
    for (std::size_t i = 0; i < count_; ++i) {
        host.values[i] = from_16_bits(bits[i], type_);
        host.written[i] = bits[i] != static_cast<std::uint16_t>(unwritten);
    }
    return host;
}

void Worst::compare(const HostNumbers& found, std::size_t index, double expected, double allowed) {
    const double error = std::abs(double{found.values[index]} - expected);
    const double share = error == 0 ? 0 : error / allowed;
    if (!found.written[index] || std::isnan(share))
        share_ = std::numeric_limits<double>::infinity();
    else
        share_ = std::max(share_, share);
}

void Worst::must_be_unwritten(const HostNumbers& found, std::size_t index) {
    if (found.written[index])
        share_ = std::numeric_limits<double>::infinity();
}

} // namespace rekindle::mlp::verify
