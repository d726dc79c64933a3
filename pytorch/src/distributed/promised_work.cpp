#include "promised_work.h"

#include "device/allocator.h"
#include "device/events.h"
#include "device/promised.h"
#include "dispatch/cuda_devices.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>
#include <set>
#include <utility>

namespace rvk::distributed {

namespace {

/// Returns the operation's name in profiles: "rvk:all_reduce", or "nccl:all_reduce" under torch_rvk.run,
/// because tools search profiles of programs for CUDA for NCCL's names. The text is never freed.
const char* title_in_profiles(std::string_view operation) {
    static std::mutex mutex;
    static auto* const titles = new std::set<std::string>;
    const std::scoped_lock lock(mutex);
    return titles->insert((maps_cuda_devices() ? "nccl:" : "rvk:") + std::string(operation)).first->c_str();
}

} // namespace

PromisedWork::PromisedWork(std::string_view operation, const std::vector<at::Tensor>& inputs,
                           std::unique_ptr<runtime::Promise> promise, std::vector<at::Tensor> tensors,
                           c10::Device device, int source_rank)
    : Work(-1, c10d::OpType::UNKNOWN, title_in_profiles(operation), inputs), device_(device),
      promise_(std::move(promise)), event_(promise_->event()), tensors_(std::move(tensors)),
      source_rank_(source_rank), future_(completed_future()) {}

c10::intrusive_ptr<c10::ivalue::Future> PromisedWork::completed_future() {
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors(),
                                                           std::vector<c10::Device>{device_});
    std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> storages;
    storages.reserve(tensors_.size());
    for (const at::Tensor& tensor : tensors_)
        storages.emplace_back(tensor.storage().getWeakStorageImpl());
    const RecordsPromised records(event_);
    future->markCompleted(c10::IValue(tensors_), std::move(storages));
    return future;
}

void PromisedWork::end_range() {
    if (const auto end = std::exchange(recordFunctionEndCallback_, nullptr))
        end();
}

bool PromisedWork::wait(std::chrono::milliseconds timeout) {
    if (timeout.count() > 0 && !await_outcome(timeout))
        C10_THROW_ERROR(DistBackendError, c10::str("The operation did not end within ", timeout.count(),
                                                   " ms, the timeout of wait()."));
    synchronize();
    return true;
}
void PromisedWork::synchronize() {
    throw_failure();
    future_->wait();
}
bool PromisedWork::isCompleted() {
    return has_outcome() && is_reached(event_);
}
bool PromisedWork::isSuccess() const {
    return has_outcome() && !exception();
}
std::exception_ptr PromisedWork::exception() const {
    const std::scoped_lock lock(mutex_);
    return failure_;
}

void PromisedWork::keep() {
    promise_->keep(current_stream(index_of(device_)).record());
    end(nullptr, {});
}
void PromisedWork::fail(const std::string& message) {
    const c10::SourceLocation here{__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)};
    report_failed_promise(message);
    end(std::make_exception_ptr(c10::DistBackendError(here, message)), message);
    promise_->abandon();
}
void PromisedWork::await() {
    await_outcome(std::chrono::milliseconds(0));
    throw_failure();
}

bool PromisedWork::has_outcome() const {
    const std::scoped_lock lock(mutex_);
    return ended_;
}
/// timeout: 0 waits without a limit. Returns whether there is an outcome.
bool PromisedWork::await_outcome(std::chrono::milliseconds timeout) {
    const WithoutPythonLock unlocked;
    std::unique_lock lock(mutex_);
    if (timeout.count() > 0)
        return changed_.wait_for(lock, timeout, [this] { return ended_; });
    changed_.wait(lock, [this] { return ended_; });
    return true;
}
void PromisedWork::end(std::exception_ptr failure, std::string message) {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    failure_ = std::move(failure);
    message_ = std::move(message);
    changed_.notify_all();
}
void PromisedWork::throw_failure() const {
    const std::scoped_lock lock(mutex_);
    if (!failure_)
        return;
    forget_failed_promise(message_);
    std::rethrow_exception(failure_);
}

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

} // namespace rvk::distributed
