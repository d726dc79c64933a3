#pragma once
/// Promised events, which work queued later will reach, and the failures of such work. The host queues work
/// behind a promised event without waiting, so it learns of a failure at its next synchronization.

#include <rekindle/runtime/stream.h>

#include <string>

namespace rvk {

/// While this object lives, PyTorch records `event` on the calling thread instead of new events.
class RecordsPromised {
  public:
    explicit RecordsPromised(const rekindle::runtime::Event& event) noexcept;
    ~RecordsPromised();
    RecordsPromised(const RecordsPromised&) = delete;
    RecordsPromised& operator=(const RecordsPromised&) = delete;

    /// The event to record instead of a point in the stream; null if there is none.
    static const rekindle::runtime::Event* of_this_thread() noexcept;
};

/// Reports that promised work has failed. Keeps the first failure until it is thrown. Thread-safe.
void report_failed_promise(std::string message);
/// Forgets a failure with that message, because the caller throws it.
void forget_failed_promise(const std::string& message);
/// Throws c10::DistBackendError if promised work has failed since the last call, except on threads that keep
/// promises. Call it after every wait for a device.
void check_failed_promise();

/// Releases Python's global lock while this object lives, if the calling thread holds it. Every wait for a
/// device needs this, because a thread that keeps a promise may need the lock. The library does not link
/// Python; in a process without Python, this does nothing.
class WithoutPythonLock {
  public:
    WithoutPythonLock() noexcept;
    ~WithoutPythonLock();
    WithoutPythonLock(const WithoutPythonLock&) = delete;
    WithoutPythonLock& operator=(const WithoutPythonLock&) = delete;

  private:
    void* state_ = nullptr; ///< null: the thread did not hold the lock
};

/// Declares that the calling thread keeps promises from now on
/// (runtime::Promise::this_thread_keeps_promises).
void keep_promises_on_this_thread() noexcept;

} // namespace rvk
