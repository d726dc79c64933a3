#pragma once
/// The runtime's exceptions. Programs report them like any other rekindle::Error.

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/log.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace rekindle::runtime {

/// A call failed. what() says which call, on which device and with which result code; advice() says what the
/// user can do.
class Error : public rekindle::Error {
  public:
    explicit Error(std::string what, std::string advice = {}) : rekindle::Error(std::move(what)) {
        hint(std::move(advice));
    }
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

/// Called from any thread, one call at a time per device.
using LogCallback = std::function<void(LogLevel, std::string_view)>;

} // namespace rekindle::runtime
