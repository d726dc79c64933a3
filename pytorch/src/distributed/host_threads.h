#pragma once
/// Copies and reduces host memory on several threads, because one thread is slower than the link to a GPU.
///
/// PyTorch's own thread pool cannot be used. Under torchrun it has one thread (OMP_NUM_THREADS=1). Otherwise
/// the pools of all processes together have more threads than there are CPUs, and all_reduce took seven times
/// as long.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace rvk::distributed {

/// Makes PyTorch's operators single-threaded on the calling thread.
void compute_alone();

/// Divides a range of `count` elements of element_bytes each into parts and calls run(begin, end) for each
/// part, on this process's share of the CPUs (at most four threads). A small range is one part. Rethrows the
/// first exception after all parts have ended. Thread-safe.
void in_parts(std::int64_t count, std::size_t element_bytes,
              const std::function<void(std::int64_t begin, std::int64_t end)>& run);

/// Copies host memory of equal size; the ranges must not overlap.
void copy_host(std::span<std::byte> to, std::span<const std::byte> from);

} // namespace rvk::distributed
