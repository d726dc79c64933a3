#include "promised.h"

#include <atomic>
#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <mutex>
#include <utility>

namespace rvk {

namespace {

thread_local constinit const rekindle::runtime::Event* recorded_instead = nullptr;
thread_local constinit bool keeps_promises = false;

class Failure {
  public:
    static Failure& instance() {
        static auto* const failure = new Failure; // threads may outlive static objects
        return *failure;
    }
    void report(std::string message) {
        const std::scoped_lock lock(mutex_);
        if (!reported_.exchange(true))
            message_ = std::move(message);
    }
    void forget(const std::string& message) {
        const std::scoped_lock lock(mutex_);
        if (message_ == message)
            reported_ = false;
    }
    bool reported() const noexcept { return reported_.load(std::memory_order_relaxed); }
    /// Moves the failure's message to `message`. Returns false if there is no failure.
    bool take(std::string& message) {
        const std::scoped_lock lock(mutex_);
        if (!reported_.exchange(false))
            return false;
        message = std::move(message_);
        message_.clear();
        return true;
    }

  private:
    std::mutex mutex_;
    std::atomic<bool> reported_{false};
    std::string message_;
};

/// Functions of Python's stable C API; null if the process has no Python.
struct Python {
    int (*holds_lock)();
    void* (*release)();
    void (*acquire)(void*);

    static const Python& instance() {
        static const Python python{
            reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "PyGILState_Check")),
            reinterpret_cast<void* (*)()>(::dlsym(RTLD_DEFAULT, "PyEval_SaveThread")),
            reinterpret_cast<void (*)(void*)>(::dlsym(RTLD_DEFAULT, "PyEval_RestoreThread"))};
        return python;
    }
    bool found() const { return holds_lock && release && acquire; }
};

} // namespace

RecordsPromised::RecordsPromised(const rekindle::runtime::Event& event) noexcept {
    recorded_instead = &event;
}
RecordsPromised::~RecordsPromised() {
    recorded_instead = nullptr;
}
const rekindle::runtime::Event* RecordsPromised::of_this_thread() noexcept {
    return recorded_instead;
}

void report_failed_promise(std::string message) {
    Failure::instance().report(std::move(message));
}
void forget_failed_promise(const std::string& message) {
    Failure::instance().forget(message);
}
void check_failed_promise() {
    if (!Failure::instance().reported() || keeps_promises)
        return;
    if (std::string message; Failure::instance().take(message))
        C10_THROW_ERROR(DistBackendError, message);
}

WithoutPythonLock::WithoutPythonLock() noexcept {
    const Python& python = Python::instance();
    if (python.found() && python.holds_lock())
        state_ = python.release();
}
WithoutPythonLock::~WithoutPythonLock() {
    if (state_)
        Python::instance().acquire(state_);
}

void keep_promises_on_this_thread() noexcept {
    keeps_promises = true;
    rekindle::runtime::Promise::this_thread_keeps_promises();
}

} // namespace rvk
