#pragma once
/// The ways in which a device writes and reads the memory that the ranks of a host share (links.h).
///
/// Some drivers can import the memory, so that the device accesses it directly. With the others, the device
/// copies from and to pinned buffers, and the CPU copies between those and the shared memory. Each rank
/// measures which way is fastest.

#include "device/events.h"
#include "staging.h"

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

namespace rvk::distributed {

/// Waits for work of the device, and then lets the CPU do its part.
class Wait {
  public:
    /// There is nothing to wait for.
    Wait() = default;
    explicit Wait(runtime::Event event, std::function<void()> then = {})
        : event_(std::move(event)), then_(std::move(then)) {}

    /// Returns whether the device has finished. Submits the work if necessary.
    bool device_is_done() const { return is_reached(event_); }
    /// Call it once.
    void operator()() const {
        event_.wait();
        if (then_)
            then_();
    }

  private:
    runtime::Event event_;
    std::function<void()> then_;
};

/// Uses the shared memory from one device. `begin` is an offset in a rank's memory, in bytes; tensors are
/// flat. Work that reads is queued on the staging's stream, which must be the current one. For one thread.
class SharedMemory {
  public:
    virtual ~SharedMemory() = default;

    /// Makes later writes and copies wait for the work that is on the staging's stream now.
    virtual void wait_for_results() = 0;
    /// Makes later writes wait for the event. Copies and reads may wait for it, too.
    virtual void write_after(const runtime::Event& event) = 0;
    /// Starts to copy tensors to consecutive addresses. The returned Wait ends when they are there.
    virtual Wait write(int rank, std::int64_t begin, std::span<const at::Tensor> tensors) = 0;
    /// Starts to copy from the memory to a tensor.
    virtual void copy_to(const at::Tensor& target, int rank, std::int64_t begin) = 0;
    /// Returns a tensor of the device with the size and dtype of `like` and the values in the memory. It may
    /// be a view of the memory itself, so it is valid only until the result of reads() has been waited for.
    virtual at::Tensor read(int rank, std::int64_t begin, const at::Tensor& like) = 0;
    /// The returned Wait ends when the reads and copies so far have finished; the memory can then be
    /// overwritten.
    virtual Wait reads() = 0;
};

/// Returns the way that is fastest here, or the one that REKINDLE_SHARED_MEMORY names (staged, imported,
/// copied). `memories` are the shared memories of all ranks, which must outlive the result; in this rank's, a
/// piece at `begin` is overwritten. The staging, whose stream must be current, must outlive the result too.
/// Throws c10::ValueError for an unknown name.
std::unique_ptr<SharedMemory> fastest_shared_memory(std::span<const at::Tensor> memories, int rank,
                                                    std::int64_t begin, Staging& staging);

} // namespace rvk::distributed
