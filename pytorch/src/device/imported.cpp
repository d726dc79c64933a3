#include "imported.h"

#include "allocator.h"

#include <ATen/ops/empty.h>
#include <cstddef>
#include <memory>
#include <utility>

namespace rvk {

at::Tensor import_host_memory(const at::Tensor& host, DeviceIndex index) {
    TORCH_CHECK_VALUE(host.is_cpu() && host.is_contiguous(), "Only contiguous CPU tensors can be imported.");
    auto* const begin = static_cast<std::byte*>(host.mutable_data_ptr());
    runtime::Buffer buffer = rvk::device(index).allocator().import_pages(
        {begin, host.nbytes()}, std::make_shared<const at::Tensor>(host));
    at::Tensor result =
        at::empty({0}, at::TensorOptions().dtype(at::kByte).device(c10::Device(c10::kPrivateUse1, index)));
    const auto bytes = static_cast<std::int64_t>(host.nbytes());
    c10::Storage storage(c10::Storage::use_byte_size_t{}, host.nbytes(), storage_of(std::move(buffer), index),
                         &device_allocator(), /*resizable=*/false);
    return result.set_(std::move(storage), 0, {bytes}, {1});
}

} // namespace rvk
