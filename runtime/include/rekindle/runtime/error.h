#pragma once
/// The runtime's exceptions. It does not link base/, so it has its own; callers that report to users turn
/// them into rekindle::Error with the same text and hint.

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace rekindle::runtime {

/// A call failed. what() says which call, on which device and with which result code; hint() says what the
/// user can do.
class Error : public std::runtime_error {
  public:
    explicit Error(const std::string& what, std::string hint = {})
        : std::runtime_error(what), hint_(std::move(hint)) {}
    const std::string& hint() const noexcept { return hint_; }

  private:
    std::string hint_;
};

/// The device cannot do what was asked; nothing was changed.
class Unsupported : public Error {
  public:
    using Error::Error;
};

/// Thrown after the cache was given back and the allocation was retried.
class OutOfMemory : public Error {
  public:
    using Error::Error;
};

/// The device is lost. what() gives the last operations, the driver's fault data and advice. Sticky: every
/// later call on the device throws it again; the process has to be restarted.
class DeviceLost : public Error {
  public:
    using Error::Error;
};

enum class LogLevel { debug, info, warning, error };
/// Called from any thread, one call at a time per device.
using LogCallback = std::function<void(LogLevel, std::string_view)>;

} // namespace rekindle::runtime
