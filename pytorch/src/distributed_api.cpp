/// Operators that give Python code in torch_rvk/distributed access to C++ parts of c10d. They are operators
/// because the library must not depend on one version of Python:
///
///   reduce_op(ReduceOp op) -> (int kind, Tensor? factor)
///       Reads a reduction: its number in c10d's enumeration, and the factor of a premultiplied sum.
///   promised_work(Tensor[] tensors, Device device, int source_rank) -> Work
///       Makes the Work of an operation on the tensors that another thread is going to queue. Its wait()
///       makes the current streams wait for the operation and returns at once, unless it has a timeout. Its
///       future is complete from the start, and its events are promised. If the operation fails, wait()
///       throws a DistBackendError, or the next synchronization does if wait() was called before.
///   keep_work(Work work) -> ()
///       The operation is queued on the current stream of its device.
///   fail_work(Work work, str message) -> ()
///       The operation has failed; what waits for it goes on, with tensors of which the values are unknown.
///   await_work(Work work) -> ()
///       Waits until the work is kept or has failed, and throws its error.
///   alias_memory(Tensor tensor) -> Tensor
///       Returns a tensor with the same elements in the same memory, which it keeps even if the storage of
///       `tensor` is resized: FSDP frees parameters that way while collectives that read them are still
///       queued.
///   keep_promises() -> ()
///       The calling thread calls keep_work or fail_work from now on.
///
/// They are not registered if PyTorch was built without torch.distributed.

#include "device/allocator.h"
#include "device/devices.h"
#include "device/promised.h"

#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/util/Exception.h>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>
#include <torch/custom_class.h>
#include <torch/library.h>
#include <tuple>
#include <utility>
#include <vector>

namespace rvk {

namespace {

std::tuple<std::int64_t, std::optional<at::Tensor>> reduce_op(const c10::intrusive_ptr<c10d::ReduceOp>& op) {
    if (op->op_ != c10d::ReduceOp::PREMUL_SUM)
        return {op->op_, std::nullopt};
    const auto* const supplement = dynamic_cast<const c10d::NCCLPreMulSumSupplement*>(op->supplement_.get());
    TORCH_CHECK_VALUE(supplement, "This premultiplied sum has no factor.");
    if (supplement->tensor_factor.defined())
        return {op->op_, supplement->tensor_factor};
    return {op->op_, at::scalar_tensor(supplement->double_factor, at::kDouble)};
}

/// See promised_work. Thread-safe.
class PromisedWork final : public c10d::Work {
  public:
    PromisedWork(std::vector<at::Tensor> tensors, c10::Device device, int source_rank)
        : device_(device), promise_(rvk::device(index_of(device)).make_promise()), event_(promise_->event()),
          tensors_(std::move(tensors)), source_rank_(source_rank), future_(completed_future()) {}

    bool wait(std::chrono::milliseconds timeout) override {
        if (timeout.count() > 0 && !await_outcome(timeout))
            C10_THROW_ERROR(DistBackendError, "The operation did not end within the timeout of wait().");
        synchronize();
        return true;
    }
    void synchronize() override {
        throw_failure();
        future_->wait();
    }
    bool isCompleted() override { return has_outcome() && event_.done(); }
    bool isSuccess() const override { return has_outcome() && !exception(); }
    std::exception_ptr exception() const override {
        const std::scoped_lock lock(mutex_);
        return failure_;
    }
    int sourceRank() const override { return source_rank_; }
    std::vector<at::Tensor> result() override { return tensors_; }
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

    void keep() {
        promise_->keep(current_stream(index_of(device_)).record());
        end(nullptr, {});
    }
    void fail(const std::string& message) {
        const c10::SourceLocation here{__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)};
        report_failed_promise(message);
        end(std::make_exception_ptr(c10::DistBackendError(here, message)), message);
        promise_->abandon();
    }
    /// Waits until the work is kept or has failed. Throws its error.
    void await() {
        await_outcome(std::chrono::milliseconds(0));
        throw_failure();
    }

  private:
    c10::intrusive_ptr<c10::ivalue::Future> completed_future() {
        auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors(),
                                                               std::vector<c10::Device>{device_});
        std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> storages;
        for (const at::Tensor& tensor : tensors_)
            storages.emplace_back(tensor.storage().getWeakStorageImpl());
        const RecordsPromised records(event_);
        future->markCompleted(c10::IValue(tensors_), std::move(storages));
        return future;
    }
    bool has_outcome() const {
        const std::scoped_lock lock(mutex_);
        return ended_;
    }
    /// 0: without limit. Whether there is an outcome.
    bool await_outcome(std::chrono::milliseconds timeout) {
        const WithoutPythonLock unlocked;
        std::unique_lock lock(mutex_);
        if (timeout.count() > 0)
            return changed_.wait_for(lock, timeout, [this] { return ended_; });
        changed_.wait(lock, [this] { return ended_; });
        return true;
    }
    void end(std::exception_ptr failure, std::string message) {
        const std::scoped_lock lock(mutex_);
        ended_ = true;
        failure_ = std::move(failure);
        message_ = std::move(message);
        changed_.notify_all();
    }
    void throw_failure() const {
        const std::scoped_lock lock(mutex_);
        if (!failure_)
            return;
        forget_failed_promise(message_);
        std::rethrow_exception(failure_);
    }

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

at::Tensor alias_memory(const at::Tensor& tensor) {
    if (!tensor.is_privateuseone() || tensor.numel() == 0)
        return tensor;
    unshare(tensor);
    c10::DataPtr memory = another_owner(tensor.storage().data_ptr());
    if (!memory)
        return tensor;
    c10::Storage storage(c10::Storage::use_byte_size_t{}, tensor.storage().nbytes(), std::move(memory),
                         &device_allocator(), /*resizable=*/false);
    return at::empty({0}, tensor.options())
        .set_(std::move(storage), tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

using WorkPointer = c10::intrusive_ptr<c10d::Work>;

WorkPointer promised_work(std::vector<at::Tensor> tensors, c10::Device device, std::int64_t source_rank) {
    return c10::make_intrusive<PromisedWork>(std::move(tensors), device, static_cast<int>(source_rank));
}

PromisedWork& promised(const WorkPointer& work) {
    auto* const found = dynamic_cast<PromisedWork*>(work.get());
    TORCH_INTERNAL_ASSERT(found, "this Work was not made by promised_work");
    return *found;
}

TORCH_LIBRARY_FRAGMENT(rvk, m) {
    if (!torch::getCustomClass("__torch__.torch.classes.c10d.ReduceOp"))
        return;
    m.def("reduce_op(__torch__.torch.classes.c10d.ReduceOp op) -> (int, Tensor?)", TORCH_FN(reduce_op));
    m.def("promised_work(Tensor[] tensors, Device device, int source_rank) -> "
          "__torch__.torch.classes.c10d.Work",
          promised_work);
    m.def("keep_work(__torch__.torch.classes.c10d.Work work) -> ()",
          [](const WorkPointer& work) { promised(work).keep(); });
    m.def("fail_work(__torch__.torch.classes.c10d.Work work, str message) -> ()",
          [](const WorkPointer& work, const std::string& message) { promised(work).fail(message); });
    m.def("await_work(__torch__.torch.classes.c10d.Work work) -> ()",
          [](const WorkPointer& work) { promised(work).await(); });
    m.def("alias_memory(Tensor tensor) -> Tensor", alias_memory);
    m.def("keep_promises() -> ()", [] { keep_promises_on_this_thread(); });
}

/// Gives DistributedDataParallel host times: when it queued each step. Without a timer for the device, it
/// would print a warning.
class QueueTimer final : public c10d::Timer {
  public:
    explicit QueueTimer(c10::Device) {}
    std::optional<std::int64_t> measureDifference(Event start, Event end) override {
        const std::optional<std::int64_t> from = getTimestamp(start), to = getTimestamp(end);
        if (!from || !to || *to < *from) // not recorded in this iteration
            return std::nullopt;
        return *to - *from;
    }
};

} // namespace

} // namespace rvk

namespace c10d {
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::kPrivateUse1, rvk::QueueTimer)
}
