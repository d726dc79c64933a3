#pragma once
/// Rows in device memory.

#include <rekindle/mlp/population.h>
#include <rekindle/runtime/device.h>
#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>

#include <cstddef>
#include <memory>

namespace rekindle::mlp::gpu {

/// Copies rows in the kernels' format: [row][quads of four floats] with zero padding; targets [row], zero if
/// none are given. The copy is queued on the stream, whose order protects the rows.
class GpuSamples final : public SampleSet {
  public:
    GpuSamples(runtime::Device& device, const std::shared_ptr<runtime::Stream>& stream,
               const Samples& samples, std::size_t width);

    std::size_t count() const override { return count_; }
    /// Whether the rows were copied on this stream; false for any other stream, even after their own was
    /// destroyed.
    bool is_of(const std::shared_ptr<runtime::Stream>& stream) const { return stream_.lock() == stream; }
    const runtime::Buffer& inputs() const { return inputs_; }
    const runtime::Buffer& targets() const { return targets_; }
    std::uint64_t row_bytes() const { return row_floats_ * sizeof(float); }

  private:
    std::weak_ptr<runtime::Stream> stream_;
    std::size_t count_, row_floats_;
    runtime::Buffer inputs_, targets_;
};

} // namespace rekindle::mlp::gpu
