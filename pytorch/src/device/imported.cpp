/// An operator through which a device uses memory of the host:
///
///   import_host_memory(Tensor host, Device device) -> Tensor
///       Returns the bytes of a contiguous CPU tensor as a tensor of bytes on the device. Both share the
///       memory, which begins and ends at a page; the result keeps the CPU tensor alive. Raises
///       NotImplementedError if the driver cannot import this memory.

#include "allocator.h"
#include "devices.h"

#include <ATen/ops/empty.h>
#include <cstddef>
#include <memory>
#include <torch/library.h>
#include <utility>

namespace rvk {

namespace {

at::Tensor import_host_memory(const at::Tensor& host, at::Device device) {
    TORCH_CHECK_VALUE(host.is_cpu() && host.is_contiguous(), "Only contiguous CPU tensors can be imported.");
    const DeviceIndex index = device.has_index() ? device.index() : current_device();
    auto* const begin = static_cast<std::byte*>(host.mutable_data_ptr());
    runtime::Buffer buffer;
    try {
        buffer = rvk::device(index).allocator().import_pages({begin, host.nbytes()},
                                                             std::make_shared<const at::Tensor>(host));
    } catch (const runtime::Unsupported& error) {
        TORCH_CHECK_NOT_IMPLEMENTED(false, error.what());
    }
    at::Tensor result =
        at::empty({0}, at::TensorOptions().dtype(at::kByte).device(c10::Device(c10::kPrivateUse1, index)));
    const auto bytes = static_cast<std::int64_t>(host.nbytes());
    c10::Storage storage(c10::Storage::use_byte_size_t{}, host.nbytes(), storage_of(std::move(buffer), index),
                         &device_allocator(), /*resizable=*/false);
    result.set_(std::move(storage), 0, {bytes}, {1});
    return result;
}

TORCH_LIBRARY_FRAGMENT(rvk, m) {
    m.def("import_host_memory(Tensor host, Device device) -> Tensor", TORCH_FN(import_host_memory));
}

} // namespace

} // namespace rvk
