#pragma once
/// Helpers for all launches and copies of a population.

#include <rekindle/foundation/error.h>
#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/kernel.h>
#include <rekindle/runtime/device.h>
#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rekindle::mlp::gpu {

inline const kernels::Kernel& kernel_named(std::string_view name) {
    if (const kernels::Kernel* kernel = kernels::find(name))
        return *kernel;
    throw internal_error("there is no kernel " + std::string(name));
}

/// `count` workgroups in rows of at most 65,535, the layout that the kernels expect.
inline runtime::Groups groups_of(std::size_t count) {
    const std::size_t x = std::min<std::size_t>(count, 65535);
    return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(kernels::ceil_div(count, x))};
}

/// A copy in device memory, queued on the stream.
template <class T>
runtime::Buffer uploaded(runtime::Device& device, runtime::Stream& stream, std::span<const T> values) {
    runtime::Buffer buffer =
        device.allocator().allocate(values.size_bytes(), runtime::MemoryKind::device, &stream);
    if (!values.empty())
        stream.upload(buffer.pointer(), std::as_bytes(values));
    return buffer;
}

/// The number of rows of this many floats that are copied through staging memory at a time: at most 64 MiB,
/// and at least one row.
inline std::size_t staged_at_once(std::size_t row_floats) {
    return std::max<std::size_t>(1, (std::size_t{1} << 24) / row_floats);
}

} // namespace rekindle::mlp::gpu
