#include "launch.h"

#include "../device/allocator.h"

#include <c10/util/Exception.h>
#include <cstring>
#include <deque>

namespace rvk {

namespace {

std::uint64_t span_of(at::IntArrayRef sizes, at::IntArrayRef strides, std::uint64_t element_bytes) {
    std::uint64_t last = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] == 0)
            return 0;
        last += static_cast<std::uint64_t>(sizes[d] - 1) * static_cast<std::uint64_t>(strides[d]);
    }
    return (last + 1) * element_bytes;
}

Access access_of(const at::TensorBase& tensor, bool writes) {
    return {{address(tensor)}, span_of(tensor.sizes(), tensor.strides(), tensor.element_size()), writes};
}

Access access_of(const at::TensorIteratorBase& iterator, int operand, bool writes) {
    const auto shape = iterator.shape();
    const auto strides = iterator.strides(operand); // in bytes
    std::uint64_t last = 0;
    for (std::size_t d = 0; d < shape.size(); ++d)
        last += static_cast<std::uint64_t>(shape[d] - 1) * static_cast<std::uint64_t>(strides[d]);
    return {device_pointer(iterator.data_ptr(operand)), last + iterator.element_size(operand), writes};
}

} // namespace

std::uint64_t address(const at::TensorBase& tensor) {
    return reinterpret_cast<std::uint64_t>(tensor.const_data_ptr());
}
std::uint64_t raw_address(const at::TensorBase& tensor) {
    return runtime::raw_address({address(tensor)});
}

Access reads(const at::TensorBase& tensor) {
    return access_of(tensor, false);
}
Access writes(const at::TensorBase& tensor) {
    return access_of(tensor, true);
}
Access reads(const at::TensorIteratorBase& iterator, int operand) {
    return access_of(iterator, operand, false);
}
Access writes(const at::TensorIteratorBase& iterator, int operand) {
    return access_of(iterator, operand, true);
}

Groups linear_groups(std::int64_t count, std::uint32_t per_group) {
    constexpr std::int64_t row = 32768;
    const std::int64_t groups = (count + per_group - 1) / per_group;
    if (groups <= row)
        return {static_cast<std::uint32_t>(groups), 1, 1};
    const std::int64_t rows = (groups + row - 1) / row;
    TORCH_CHECK(rows <= 65535, "A launch of ", count, " items is more than the device can number.");
    return {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(rows), 1};
}

void launch(DeviceIndex index, const kernels::Kernel& kernel, Groups groups,
            std::span<const std::byte> parameters, std::span<const Access> accesses,
            std::span<const ConstantValue> constants) {
    try {
        current_stream(index).launch(kernel, groups, parameters, accesses, constants);
    } catch (const runtime::Unsupported& error) {
        TORCH_CHECK_NOT_IMPLEMENTED(false, error.what());
    }
}

std::uint64_t upload_block(DeviceIndex index, std::span<const std::byte> bytes) {
    // A block of the host is used again only after the work that is queued when it is released: it must be
    // kept until then.
    constexpr std::size_t kept = 256;
    thread_local std::deque<runtime::Buffer> blocks;
    blocks.push_back(device(index).allocator().allocate(bytes.size(), runtime::MemoryKind::upload));
    if (blocks.size() > kept)
        blocks.pop_front();
    std::memcpy(blocks.back().host().data(), bytes.data(), bytes.size());
    return blocks.back().pointer().address;
}

bool has_float64(DeviceIndex index) {
    return device(index).usable_features().contains(kernels::Feature::float64);
}
void require_float64(c10::ScalarType type, c10::Device device) {
    if (type == at::kDouble || type == at::kComplexDouble)
        TORCH_CHECK_NOT_IMPLEMENTED(has_float64(device.index()), "float64 on ", device,
                                    ", which computes in float32 only");
}

} // namespace rvk
