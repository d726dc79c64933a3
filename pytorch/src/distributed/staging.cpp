#include "staging.h"

#include "device/pinned.h"
#include "device/promised.h"

#include <ATen/ops/empty.h>
#include <utility>

namespace rvk::distributed {

namespace {

at::Tensor pinned_bytes(std::int64_t count) {
    const auto bytes = static_cast<std::size_t>(count);
    c10::Storage storage(c10::Storage::use_byte_size_t{}, bytes, pinned_allocator().allocate(bytes),
                         &pinned_allocator(), /*resizable=*/false);
    return at::empty({0}, at::kByte).set_(std::move(storage), 0, {count}, {1});
}

} // namespace

Staging::Staging(DeviceIndex device) : device_(device), stream_(device, OwnStream::Kind::kernels) {}

Staging::Buffer& Staging::free_buffer(Ring& ring, std::int64_t number) const {
    Buffer& buffer = ring[static_cast<std::size_t>(number % depth)];
    if (!buffer.bytes.defined())
        buffer.bytes = pinned_bytes(largest_piece);
    const WithoutPythonLock unlocked;
    buffer.copied.wait();
    return buffer;
}

std::int64_t Staging::download(std::span<const at::Tensor> tensors) {
    Buffer& buffer = free_buffer(down_, downloads_);
    buffer.filled = 0;
    for (const at::Tensor& tensor : tensors) {
        const auto end = buffer.filled + static_cast<std::int64_t>(tensor.nbytes());
        buffer.bytes.slice(0, buffer.filled, end)
            .view(tensor.scalar_type())
            .copy_(tensor, /*non_blocking=*/true);
        buffer.filled = end;
    }
    buffer.copied = rvk::stream(stream_.id()).record();
    return downloads_++;
}

at::Tensor Staging::wait_for(std::int64_t download) {
    const Buffer& buffer = free_buffer(down_, download);
    return buffer.bytes.slice(0, 0, buffer.filled);
}

at::Tensor Staging::host_for(const at::Tensor& target) {
    const Buffer& buffer = free_buffer(up_, uploads_);
    return buffer.bytes.slice(0, 0, static_cast<std::int64_t>(target.nbytes())).view(target.scalar_type());
}

void Staging::upload(const at::Tensor& target, const at::Tensor& host) {
    target.copy_(host, /*non_blocking=*/true);
    up_[static_cast<std::size_t>(uploads_++ % depth)].copied = rvk::stream(stream_.id()).record();
}

void Staging::release_buffers() {
    {
        const WithoutPythonLock unlocked;
        rvk::stream(stream_.id()).synchronize();
    }
    down_ = {};
    up_ = {};
}

} // namespace rvk::distributed
