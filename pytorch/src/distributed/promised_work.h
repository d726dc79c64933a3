#pragma once
/// c10d's Work for an operation that another thread is going to queue.

#include "device/devices.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

namespace rvk::distributed {

/// wait() makes the calling thread's current streams wait for the operation and returns at once, unless it
/// has a timeout. The future is complete from the start, and its events are promised. If the operation fails,
/// wait() throws a DistBackendError, or the next synchronization does if wait() was called before.
/// Thread-safe.
class PromisedWork final : public c10d::Work {
  public:
    /// Profiles show the name `operation`, such as "all_reduce", and the shapes of `inputs`. promise: of
    /// `device`. tensors: what result() returns. source_rank: the sender of a received tensor; -1 for other
    /// operations.
    PromisedWork(std::string_view operation, const std::vector<at::Tensor>& inputs,
                 std::unique_ptr<runtime::Promise> promise, std::vector<at::Tensor> tensors,
                 c10::Device device, int source_rank);

    /// Ends the range that shows the operation in profiles. The constructor begins it. The thread that
    /// created this object must call this before it returns to the user: if the user ended the profile first,
    /// the profiler would write to freed memory.
    void end_range();

    bool wait(std::chrono::milliseconds timeout) override;
    void synchronize() override;
    bool isCompleted() override;
    bool isSuccess() const override;
    std::exception_ptr exception() const override;
    int sourceRank() const override { return source_rank_; }
    std::vector<at::Tensor> result() override { return tensors_; }
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

    /// Keeps the promise: the operation is queued on the calling thread's current stream.
    void keep();
    /// Marks the operation as failed. Work that waits for it runs, with unknown values in the operation's
    /// tensors.
    void fail(const std::string& message);
    /// Waits until the work is kept or has failed. Throws its error.
    void await();

  private:
    c10::intrusive_ptr<c10::ivalue::Future> completed_future();
    bool has_outcome() const;
    bool await_outcome(std::chrono::milliseconds timeout);
    void end(std::exception_ptr failure, std::string message);
    void throw_failure() const;

    const c10::Device device_;
    const std::unique_ptr<runtime::Promise> promise_;
    const runtime::Event event_;
    const std::vector<at::Tensor> tensors_;
    const int source_rank_;
    const c10::intrusive_ptr<c10::ivalue::Future> future_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool ended_ = false;
    std::exception_ptr failure_;
    std::string message_;
};

/// Returns a tensor with the same elements in the same memory, which it keeps even if the storage of `tensor`
/// is resized: FSDP frees parameters that way while collectives that read them are still queued.
at::Tensor alias_memory(const at::Tensor& tensor);

} // namespace rvk::distributed
