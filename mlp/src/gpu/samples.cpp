#include "gpu/samples.h"

#include "gpu/launch.h"
#include "gpu/layout.h"

#include <algorithm>
#include <span>
#include <vector>

namespace rekindle::mlp::gpu {

GpuSamples::GpuSamples(runtime::Device& device, const std::shared_ptr<runtime::Stream>& stream,
                       const Samples& samples, std::size_t width)
    : stream_(stream), count_(samples.count), row_floats_(quads(width) * std::size_t{4}),
      inputs_(device.allocator().allocate(count_ * row_bytes(), runtime::MemoryKind::device)),
      targets_(device.allocator().allocate(count_ * sizeof(float), runtime::MemoryKind::device)) {
    const std::size_t at_once = staged_at_once(row_floats_);
    std::vector<float> rows(std::min(at_once, count_) * row_floats_);
    for (std::size_t first = 0; first < count_; first += at_once) {
        const std::size_t count = std::min(at_once, count_ - first);
        for (std::size_t r = 0; r < count; ++r)
            std::copy_n(samples.inputs + (first + r) * samples.stride, width, rows.begin() + r * row_floats_);
        stream->upload(inputs_.pointer() + first * row_bytes(),
                       std::as_bytes(std::span(rows).first(count * row_floats_)));
    }
    if (count_ == 0)
        return;
    if (samples.targets)
        stream->upload(targets_.pointer(), std::as_bytes(std::span(samples.targets, count_)));
    else
        stream->fill(targets_.pointer(), count_ * sizeof(float), 0);
}

} // namespace rekindle::mlp::gpu
