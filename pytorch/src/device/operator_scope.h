#pragma once
/// Tracks which operator of this device is running, and whether it may wait for values from the device, which
/// strict mode checks.

#include <cstddef>

namespace rvk {

/// Whether REKINDLE_STRICT=1: an operator that falls back to the CPU, or copies from the device without
/// declaring it, raises an error.
bool strict() noexcept;

/// One operator of this device runs in this scope. Nested scopes count as work of the outer operator. Work
/// queued in the scope carries the operator's name, which the message about a lost device shows.
class OperatorScope {
  public:
    explicit OperatorScope(const char* name) noexcept;
    ~OperatorScope();
    OperatorScope(const OperatorScope&) = delete;
    OperatorScope& operator=(const OperatorScope&) = delete;

  private:
    const char* outer_;
};

/// The operator running on this thread, or "".
const char* running_operator() noexcept;

/// In this scope the operator may copy to the host by design: its result's size depends on values (nonzero),
/// or the caller asked for a value (item). `reason` is only documentation.
class AllowCopyToHost {
  public:
    explicit AllowCopyToHost(const char* reason) noexcept;
    ~AllowCopyToHost();
    AllowCopyToHost(const AllowCopyToHost&) = delete;
    AllowCopyToHost& operator=(const AllowCopyToHost&) = delete;

  private:
    bool before_;
};

/// Called before every copy to the host. In strict mode, throws c10::Error inside an operator that did not
/// allow the copy.
void check_copy_to_host(std::size_t bytes);

} // namespace rvk
