#pragma once
/// Rows in device memory.

#include <rekindle/mlp/population.h>
#include <rekindle/runtime/device.h>
#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>

#include <cstddef>

namespace rekindle::mlp::population {

/// Copies rows in the kernels' format: [row][quads of four floats] with zero padding; targets [row], zero if
/// none are given. The copy is queued on the stream.
class GpuSamples final : public SampleSet {
  public:
    GpuSamples(runtime::Device& device, runtime::Stream& stream, const Samples& samples, std::size_t width);

    std::size_t count() const override { return count_; }
    /// The stream whose order protects the rows.
    const runtime::Stream& stream() const { return stream_; }
    const runtime::Buffer& inputs() const { return inputs_; }
    const runtime::Buffer& targets() const { return targets_; }
    std::uint64_t row_bytes() const { return row_floats_ * sizeof(float); }

  private:
    runtime::Stream& stream_;
    std::size_t count_, row_floats_;
    runtime::Buffer inputs_, targets_;
};

} // namespace rekindle::mlp::population
