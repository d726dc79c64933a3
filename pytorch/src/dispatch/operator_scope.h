#pragma once
/// What strict mode watches: which operator of this device is running, and whether it may wait for values
/// from the device.

#include <cstddef>

namespace rvk {

/// Whether REKINDLE_STRICT=1: an operator that falls back to the CPU, or copies from the device in secret,
/// raises.
bool strict() noexcept;

/// One operator of this device runs in this scope. Nested scopes count as the outer one's work. What is
/// queued in it carries the operator's name, which the message of a lost device shows.
class OperatorScope {
  public:
    explicit OperatorScope(const char* name) noexcept;
    ~OperatorScope();
    OperatorScope(const OperatorScope&) = delete;
    OperatorScope& operator=(const OperatorScope&) = delete;

  private:
    const char* outer_;
};

/// The operator that runs on this thread, "" outside of one.
const char* running_operator() noexcept;

/// In this scope a copy to the host is part of what the operator means: its size depends on values (nonzero),
/// or the caller asked for a value (item). `reason` goes to the reader alone.
class AllowCopyToHost {
  public:
    explicit AllowCopyToHost(const char* reason) noexcept;
    ~AllowCopyToHost();
    AllowCopyToHost(const AllowCopyToHost&) = delete;
    AllowCopyToHost& operator=(const AllowCopyToHost&) = delete;

  private:
    bool before_;
};

/// Called where bytes leave the device. Throws c10::Error in strict mode inside an operator that did not
/// allow it.
void check_copy_to_host(std::size_t bytes);

} // namespace rvk
