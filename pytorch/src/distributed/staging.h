#pragma once
/// Copies between a device and the host in pieces, through two rings of pinned buffers and on a separate
/// stream. Copies in both directions overlap with the caller's computation and with reductions on the CPU.

#include "device/devices.h"

#include <ATen/core/Tensor.h>
#include <array>
#include <cstdint>
#include <span>
#include <torch/custom_class.h>

namespace rvk::distributed {

/// The most bytes of a piece: large enough to reach the link's full rate, small enough that the first piece
/// arrives soon.
constexpr std::int64_t largest_piece = 16 << 20;

/// The pinned buffers and the stream of one device, for one thread at a time. Tensors are flat and have at
/// most largest_piece bytes. The stream must be the calling thread's current one.
class Staging : public torch::CustomClassHolder {
  public:
    explicit Staging(DeviceIndex device);

    DeviceIndex device() const noexcept { return device_; }
    c10::Stream stream() const noexcept { return stream_.id(); }

    /// Starts to copy flat tensors to consecutive addresses of the host. At most largest_piece bytes in
    /// total; at most two more downloads may start before this one's wait_for(). Returns its number.
    std::int64_t download(std::span<const at::Tensor> tensors);
    /// The event that is reached when the download has finished.
    runtime::Event event_of(std::int64_t download) const {
        return down_[static_cast<std::size_t>(download % depth)].copied;
    }
    /// Waits for the download. Returns its bytes, which remain valid until the third download after it
    /// starts.
    at::Tensor wait_for(std::int64_t download);

    /// Returns a host tensor with the size and dtype of the flat tensor `target`. Fill it and call upload().
    at::Tensor host_for(const at::Tensor& target);
    /// Starts to copy the host tensor of the last host_for() to `target`.
    void upload(const at::Tensor& target, const at::Tensor& host);

    /// Waits for the copies and gives up the pinned memory; later copies get new buffers.
    void release_buffers();

  private:
    /// Pinned memory, reusable once the last copy from or to it has finished.
    struct Buffer {
        at::Tensor bytes;
        runtime::Event copied;
        std::int64_t filled = 0; // bytes
    };
    static constexpr std::int64_t depth = 3;
    using Ring = std::array<Buffer, depth>;

    /// The buffer with that number, whose last copy has finished.
    Buffer& free_buffer(Ring& ring, std::int64_t number) const;

    const DeviceIndex device_;
    const OwnStream stream_;
    Ring down_, up_;
    std::int64_t downloads_ = 0, uploads_ = 0;
};

} // namespace rvk::distributed
