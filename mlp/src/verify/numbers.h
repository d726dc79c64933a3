#pragma once
/// Copies numbers to the device and back, and tracks the largest error.

#include <rekindle/products/tiles.h>
#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::mlp::verify {

using products::ElementType;

/// The largest relative error of rounding to the nearest number of the type: 2^-p for p significant bits.
constexpr double rounding_unit(ElementType type) {
    return type == ElementType::float32 ? 0x1p-24 : type == ElementType::float16 ? 0x1p-11 : 0x1p-8;
}
/// Relative error of one addition in a sum of products. Matrix units may truncate instead of rounding.
constexpr double sum_unit(bool on_units) {
    return on_units ? 4 * rounding_unit(ElementType::float32) : rounding_unit(ElementType::float32);
}

/// Random numbers between -1 and 1 that use every digit of the type, so that a device that drops some is
/// detected.
std::vector<float> random_numbers(std::size_t count, ElementType type, std::uint32_t seed);

/// The contents of memory after a kernel.
struct HostNumbers {
    std::vector<float> values;
    std::vector<bool> written; ///< whether they differ from the previous contents of memory
};

/// Numbers in device memory, `offset` numbers after the start of a block.
class DeviceNumbers {
  public:
    DeviceNumbers() = default;
    /// Memory filled with a pattern by which download() recognizes numbers that were not written.
    DeviceNumbers(runtime::Device& device, runtime::Stream& stream, ElementType type, std::size_t count,
                  std::uint32_t offset = 0);
    /// A copy of numbers that the type represents exactly, as normal numbers or zeros.
    DeviceNumbers(runtime::Device& device, runtime::Stream& stream, ElementType type,
                  std::span<const float> values, std::uint32_t offset = 0);

    runtime::DevicePointer first() const { return buffer_.pointer() + offset_ * bytes_of(type_); }
    const runtime::Buffer& buffer() const { return buffer_; }
    HostNumbers download(runtime::Stream& stream) const;

  private:
    runtime::Buffer buffer_;
    ElementType type_ = ElementType::float32;
    std::size_t count_ = 0;
    std::uint32_t offset_ = 0;
};

/// The largest error as a fraction of the allowed one; infinite as soon as a number is NaN or was not
/// written.
class Worst {
  public:
    void compare(const HostNumbers& found, std::size_t index, double expected, double allowed);
    /// For a number that no kernel should have overwritten.
    void must_be_unwritten(const HostNumbers& found, std::size_t index);
    double share() const { return share_; }

  private:
    double share_ = 0;
};

} // namespace rekindle::mlp::verify
