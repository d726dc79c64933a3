#pragma once
/// From tensors to launches: addresses, accesses, streams.

#include "../device/devices.h"

#include <rekindle/kernels/kernel.h>

#include <ATen/TensorIterator.h>
#include <ATen/core/TensorBase.h>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace rvk {

using runtime::Groups;

/// Bytes that a launch reads or writes, and the device whose memory they are in: `launch` rejects memory of
/// another device, and writes to memory that a deferred copy shares.
struct Access : runtime::Access {
    DeviceIndex device = -1;
    bool is_shared = false; ///< with a deferred copy (unshare in ../device/allocator.h)

    /// The same bytes, as a read access.
    Access as_read() const {
        Access result = *this;
        result.writes = false;
        return result;
    }
};

/// The address of the tensor's first element, for a kernel's parameters; 0 for a tensor without elements. In
/// poison mode it carries the poison bit, which a launch removes from its parameters. Throws c10::Error for a
/// tensor that is not on a device of this kind: no kernel ever gets a host address.
std::uint64_t address(const at::TensorBase& tensor);
/// The same for an operand of an iterator that is not a CPU scalar.
std::uint64_t address(const at::TensorIteratorBase& iterator, int operand);
/// Like `address`, without the poison bit: for tables of addresses that are written into memory.
std::uint64_t raw_address(const at::TensorBase& tensor);

/// Every byte from the first to the last element (including gaps).
Access reads(const at::TensorBase& tensor);
Access writes(const at::TensorBase& tensor);
/// The same for an operand of an iterator.
Access reads(const at::TensorIteratorBase& iterator, int operand);
Access writes(const at::TensorIteratorBase& iterator, int operand);

/// Workgroups for `count` items with `per_group` items each: as many as needed in x, and above 32,768 also in
/// y, so that the index of a workgroup is group.y * 32768 + group.x (`linear_group` in
/// kernels/lib/layout.slang). Kernels check that an item is below `count`.
Groups linear_groups(std::int64_t count, std::uint32_t per_group);

/// Queues a launch on the calling thread's current stream of that device. `constants` are all of the kernel's
/// constants, in their order (list() of its family's struct). Throws c10::Error if an access is to another
/// device's memory, or writes to memory that a deferred copy shares; c10::NotImplementedError if kernels do
/// not support a dtype among the constants, or the device does not support the kernel.
void launch(DeviceIndex index, const kernels::Kernel& kernel, Groups groups,
            std::span<const std::byte> parameters, std::span<const Access> accesses,
            std::span<const kernels::ConstantValue> constants);
template <kernels::ConstantsStruct C>
void launch(DeviceIndex index, const kernels::Kernel& kernel, Groups groups,
            std::span<const std::byte> parameters, std::span<const Access> accesses, const C& constants) {
    launch(index, kernel, groups, parameters, accesses,
           std::span<const kernels::ConstantValue>(constants.list()));
}
/// The family's constants by name: launch(device, kernel, groups, parameters, accesses, {.bytes = 8}).
template <class P>
void launch(c10::Device device, const kernels::TypedKernel<P>& kernel, Groups groups,
            const std::type_identity_t<P>& parameters, std::span<const Access> accesses,
            const typename P::Constants& constants) {
    launch(device.index(), kernel.kernel, groups, std::as_bytes(std::span(&parameters, 1)), accesses,
           constants);
}
template <class P>
void launch(c10::Device device, const kernels::TypedKernel<P>& kernel, Groups groups,
            const std::type_identity_t<P>& parameters, std::initializer_list<Access> accesses,
            const typename P::Constants& constants) {
    launch(device, kernel, groups, parameters, std::span(accesses.begin(), accesses.size()), constants);
}
/// For a kernel without constants, or whose constants keep their initial values.
template <class P>
void launch(c10::Device device, const kernels::TypedKernel<P>& kernel, Groups groups,
            const std::type_identity_t<P>& parameters, std::span<const Access> accesses) {
    if constexpr (requires { typename P::Constants; })
        launch(device, kernel, groups, parameters, accesses, typename P::Constants{});
    else
        launch(device.index(), kernel.kernel, groups, std::as_bytes(std::span(&parameters, 1)), accesses,
               std::span<const kernels::ConstantValue>());
}
template <class P>
void launch(c10::Device device, const kernels::TypedKernel<P>& kernel, Groups groups,
            const std::type_identity_t<P>& parameters, std::initializer_list<Access> accesses) {
    launch(device, kernel, groups, parameters, std::span(accesses.begin(), accesses.size()));
}

/// A copy of a small block (a table of sizes, strides or raw addresses) in memory that kernels on the calling
/// thread's stream can read. Keep it until the launches that read it are queued: the memory stays unchanged
/// until they have completed.
class [[nodiscard]] UploadedBlock {
  public:
    static constexpr std::size_t most_bytes = runtime::Stream::largest_transient;

    /// Without memory; its address is 0.
    UploadedBlock() = default;
    /// At most `most_bytes`. Throws runtime::Error, runtime::OutOfMemory.
    UploadedBlock(DeviceIndex index, std::span<const std::byte> bytes);
    template <class T>
    UploadedBlock(DeviceIndex index, std::span<const T> values)
        : UploadedBlock(index, std::as_bytes(values)) {}

    /// For a kernel's parameters. Deleted for temporaries, whose memory could be reused before the launch.
    std::uint64_t address() const& { return memory_.pointer.address; }
    std::uint64_t address() const&& = delete;

  private:
    runtime::Transient memory_;
};

/// A kernel's parameters with the block that they point to.
template <class P>
struct ParametersWithBlock {
    P parameters{};
    UploadedBlock block;
};

/// The number of a dtype in the kernels' specialization constants: that of c10::ScalarType.
constexpr std::uint32_t dtype_code(c10::ScalarType type) {
    return static_cast<std::uint32_t>(type);
}
/// Whether the device supports float64.
bool has_float64(DeviceIndex index);
/// Throws c10::NotImplementedError (so that the operator falls back to the CPU, counted) if the dtype needs
/// float64 and the device does not support it.
void require_float64(c10::ScalarType type, c10::Device device);

} // namespace rvk
