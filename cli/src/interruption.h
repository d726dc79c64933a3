#pragma once
/// Ctrl-C and SIGTERM: the first asks the job to finish its step, the second ends the program immediately.
/// Signals within half a second of the first count as the same request, because process managers signal a
/// program and then its whole group.

#include <rekindle/base/cancellation.h>

#include <csignal>

namespace rekindle::cli {

/// Connects the signals with the token while it lives. At most one object at a time.
class InterruptionGuard {
  public:
    explicit InterruptionGuard(CancellationToken& token);
    ~InterruptionGuard();
    InterruptionGuard(const InterruptionGuard&) = delete;
    InterruptionGuard& operator=(const InterruptionGuard&) = delete;

  private:
    struct sigaction old_interrupt_ {};
    struct sigaction old_terminate_ {};
};

} // namespace rekindle::cli
