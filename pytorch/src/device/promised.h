#pragma once
/// Events that later work reaches, and the failures of such work. The host queues work behind a promised
/// event without waiting, so it learns of a failure at its next synchronization.

#include <rekindle/runtime/stream.h>

#include <string>

namespace rvk {

/// While it lives, events that PyTorch records on the calling thread are `event`.
class RecordsPromised {
  public:
    explicit RecordsPromised(const rekindle::runtime::Event& event) noexcept;
    ~RecordsPromised();
    RecordsPromised(const RecordsPromised&) = delete;
    RecordsPromised& operator=(const RecordsPromised&) = delete;

    /// The event to record instead of a point in the stream; null: none.
    static const rekindle::runtime::Event* of_this_thread() noexcept;
};

/// Work that was promised has failed. The first failure is kept until it is thrown. Thread-safe.
void report_failed_promise(std::string message);
/// Forgets a failure with that message, because the caller throws it.
void forget_failed_promise(const std::string& message);
/// Throws c10::DistBackendError if work that was promised has failed since the last call. Not on threads that
/// keep promises. Call it after every wait for a device.
void check_failed_promise();

/// Lets other Python threads run while it lives: if the calling thread holds Python's lock, it is released.
/// Waits for a device need it, because a thread that keeps a promise may need the lock. The library does not
/// link Python; without it, this does nothing.
class WithoutPythonLock {
  public:
    WithoutPythonLock() noexcept;
    ~WithoutPythonLock();
    WithoutPythonLock(const WithoutPythonLock&) = delete;
    WithoutPythonLock& operator=(const WithoutPythonLock&) = delete;

  private:
    void* state_ = nullptr; ///< null: the thread did not hold the lock
};

/// The calling thread keeps promises from now on (runtime::Promise::this_thread_keeps_promises).
void keep_promises_on_this_thread() noexcept;

} // namespace rvk
