#pragma once
/// Parameters, moments, averages and pending gradients of all members in device memory.

#include "cpu/plan.h"
#include "cpu/state.h"
#include "gpu/layout.h"

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace rekindle::mlp::gpu {

using Array = cpu::StateArray;
inline constexpr std::size_t array_count = cpu::state_array_count;

/// One block of memory per kind of array, [member][Layout::floats()]; the host sees them in the layout
/// of cpu::Plan. Refers to the device and the stream. Not thread-safe.
class MemberArrays {
  public:
    MemberArrays(runtime::Device& device, runtime::Stream& stream, const cpu::Plan& plan,
                 const Layout& layout, std::size_t members);

    /// Creates the array, filled with zeros, if it does not exist yet.
    void require(Array array);
    bool exists(Array array) const { return static_cast<bool>(buffer(array)); }
    const runtime::Buffer& buffer(Array array) const { return buffers_[static_cast<std::size_t>(array)]; }
    std::uint64_t member_bytes() const { return device_floats_ * sizeof(float); }
    /// The beginning of a member's array; null if the array does not exist.
    runtime::DevicePointer at(Array array, std::size_t member) const;

    /// One member's array, plan.parameter_floats() floats; zeros if the array does not exist. Waits for the
    /// stream.
    std::vector<float> read(Array array, std::size_t member) const;
    /// Copies a member's array from device memory with the same layout.
    std::vector<float> read(runtime::DevicePointer from) const;
    void write(Array array, std::size_t member, std::span<const float> values);
    /// values(m, out) fills in member m's numbers except padding; called from several threads.
    using Values = std::function<void(std::size_t, std::span<float>)>;
    void write_all(Array array, const Values& values);
    void clear(Array array, std::size_t first_member, std::size_t members);
    /// For the members [first, first + members).
    void copy(Array to, Array from, std::size_t first_member, std::size_t members);

  private:
    struct Position {
        std::uint32_t host, device;
    };
    void to_device(std::span<const float> values, std::span<float> out) const;

    runtime::Device& device_;
    runtime::Stream& stream_;
    std::size_t host_floats_, device_floats_; ///< of one member's array
    std::size_t members_;
    std::vector<Position> positions_; ///< one per parameter
    std::array<runtime::Buffer, array_count> buffers_;
};

} // namespace rekindle::mlp::gpu
