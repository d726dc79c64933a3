/// Operators through which a device uses memory of the host:
///
///   import_host_memory(Tensor host, Device device) -> Tensor
///       Returns the bytes of a contiguous CPU tensor as a tensor of bytes on the device. Both share the
///       memory, which begins and ends at a page; the result keeps the CPU tensor alive. Raises
///       NotImplementedError if the driver cannot import this memory.
///   copy_stream(Device device) -> int
///       Returns the id of one of the device's streams that only copy (devices.h).
///   copy_bytes(Tensor(a!) to, Tensor from) -> ()
///       Copies between contiguous tensors of one device with equal dtypes and numbers of elements, on the
///       current stream, which may be one that only copies.

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

std::int64_t copy_stream(at::Device device) {
    return next_copy_stream(index_of(device)).id();
}

void copy_bytes(const at::Tensor& to, const at::Tensor& from) {
    TORCH_CHECK_VALUE(to.is_privateuseone() && to.device() == from.device(),
                      "Bytes are copied between tensors of one device, not from ", from.device(), " to ",
                      to.device(), ".");
    TORCH_CHECK_VALUE(
        to.is_contiguous() && from.is_contiguous() && to.dtype() == from.dtype() &&
            to.numel() == from.numel(),
        "Bytes are copied between contiguous tensors with equal dtypes and numbers of elements.");
    if (to.numel() != 0)
        current_stream(to.device().index())
            .copy(device_pointer(to.mutable_data_ptr()), device_pointer(from.const_data_ptr()), to.nbytes());
}

TORCH_LIBRARY_FRAGMENT(rvk, m) {
    m.def("import_host_memory(Tensor host, Device device) -> Tensor", TORCH_FN(import_host_memory));
    m.def("copy_stream(Device device) -> int", TORCH_FN(copy_stream));
    m.def("copy_bytes(Tensor(a!) to, Tensor from) -> ()", TORCH_FN(copy_bytes));
}

} // namespace

} // namespace rvk
