/// Operators that give Python code in torch_rvk/distributed access to C++ parts of c10d. They are operators
/// because the library must not depend on one version of Python:
///
///   reduce_op(ReduceOp op) -> (int kind, Tensor? factor)
///       Reads a reduction: its number in c10d's enumeration, and the factor of a premultiplied sum.
///   work(Future future, Tensor[] tensors, int source_rank) -> Work
///       Makes a Work from a future. Its wait() throws the future's error; the Work that c10d makes does not.
///   fail_future(Future future, str message) -> ()
///       Completes the future with a DistBackendError.
///
/// They are not registered if PyTorch was built without torch.distributed.

#include <ATen/core/ivalue.h>
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

/// A Work whose result is a future. wait() blocks until the future is complete, makes the current streams
/// wait for the operation's work on the device, and throws the future's error.
class FutureWork final : public c10d::Work {
  public:
    FutureWork(c10::intrusive_ptr<c10::ivalue::Future> future, std::vector<at::Tensor> tensors,
               int source_rank)
        : future_(std::move(future)), tensors_(std::move(tensors)), source_rank_(source_rank) {
        future_->addCallback([done = done_](c10::ivalue::Future&) { done->set(); }, false);
    }

    bool wait(std::chrono::milliseconds timeout) override {
        if (!done_->wait(timeout))
            C10_THROW_ERROR(DistBackendError, "The operation did not end within the timeout of wait().");
        synchronize();
        return true;
    }
    void synchronize() override {
        future_->wait();
        if (future_->hasError())
            std::rethrow_exception(future_->exception_ptr());
    }
    bool isCompleted() override { return future_->completed(); }
    bool isSuccess() const override { return future_->completed() && !future_->hasError(); }
    std::exception_ptr exception() const override {
        return future_->hasError() ? future_->exception_ptr() : nullptr;
    }
    int sourceRank() const override { return source_rank_; }
    std::vector<at::Tensor> result() override { return tensors_; }
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

  private:
    class Done {
      public:
        void set() {
            const std::lock_guard lock(mutex_);
            done_ = true;
            changed_.notify_all();
        }
        bool wait(std::chrono::milliseconds timeout) {
            std::unique_lock lock(mutex_);
            if (timeout.count() > 0)
                return changed_.wait_for(lock, timeout, [this] { return done_; });
            changed_.wait(lock, [this] { return done_; });
            return true;
        }

      private:
        std::mutex mutex_;
        std::condition_variable changed_;
        bool done_ = false;
    };

    c10::intrusive_ptr<c10::ivalue::Future> future_;
    std::vector<at::Tensor> tensors_;
    int source_rank_;
    std::shared_ptr<Done> done_ = std::make_shared<Done>(); ///< may outlive this object
};

// These kernels are boxed because PyTorch cannot infer a schema for functions that take futures.

void work(const c10::OperatorHandle&, torch::jit::Stack* stack) {
    const auto source_rank = static_cast<int>(torch::jit::pop(*stack).toInt());
    std::vector<at::Tensor> tensors = torch::jit::pop(*stack).toTensorVector();
    auto future = torch::jit::pop(*stack).toFuture();
    const c10::intrusive_ptr<c10d::Work> made =
        c10::make_intrusive<FutureWork>(std::move(future), std::move(tensors), source_rank);
    torch::jit::push(*stack, made);
}

void fail_future(const c10::OperatorHandle&, torch::jit::Stack* stack) {
    const std::string message = torch::jit::pop(*stack).toStringRef();
    const c10::SourceLocation here{__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)};
    torch::jit::pop(*stack).toFuture()->setErrorIfNeeded(
        std::make_exception_ptr(c10::DistBackendError(here, message)));
}

TORCH_LIBRARY_FRAGMENT(rvk, m) {
    if (!torch::getCustomClass("__torch__.torch.classes.c10d.ReduceOp"))
        return;
    m.def("reduce_op(__torch__.torch.classes.c10d.ReduceOp op) -> (int, Tensor?)", TORCH_FN(reduce_op));
    m.def("work(Future(t) future, Tensor[] tensors, int source_rank) -> __torch__.torch.classes.c10d.Work",
          torch::CppFunction::makeFromBoxedFunction<&work>());
    m.def("fail_future(Future(t) future, str message) -> ()",
          torch::CppFunction::makeFromBoxedFunction<&fail_future>());
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
