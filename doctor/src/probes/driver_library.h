#pragma once
/// Calls into libraries in which every function returns a status, where 0 means success. Each call is
/// announced first, because it may not return.

#include "probes/probe_child.h"
#include "probes/shared_library.h"

#include <fmt/format.h>

#include <functional>
#include <stdexcept>
#include <string>

namespace rekindle::doctor {

/// A call that returned a status other than success.
class CallFailed : public std::runtime_error {
  public:
    CallFailed(const std::string& function, std::string code)
        : std::runtime_error(function + " failed"), code_(std::move(code)) {}
    /// "hipErrorNoDevice (100)"
    const std::string& code() const noexcept { return code_; }

  private:
    std::string code_;
};

/// The name of a status, "" if the library has none for it.
using StatusName = std::function<std::string(const SharedLibrary& library, int status)>;

class DriverLibrary {
  public:
    DriverLibrary(SharedLibrary library, const ProbeReport& report, StatusName name)
        : library_(std::move(library)), report_(report), name_(std::move(name)) {}

    const SharedLibrary& file() const noexcept { return library_; }

    /// The types of the arguments must match the function's declaration: nothing checks or converts them.
    template <class... Arguments>
    int status_of(const char* function, Arguments... arguments) const {
        report_.at(function);
        return library_.get<int(Arguments...)>(function)(arguments...);
    }
    /// The same; throws CallFailed for any status but success.
    template <class... Arguments>
    void call(const char* function, Arguments... arguments) const {
        if (const int status = status_of(function, arguments...); status != 0)
            throw CallFailed(function, text_of(status));
    }
    /// "hipErrorNoDevice (100)", "status 100" without a name.
    std::string text_of(int status) const {
        const std::string name = name_ ? name_(library_, status) : std::string();
        return name.empty() ? fmt::format("status {}", status) : fmt::format("{} ({})", name, status);
    }

  private:
    SharedLibrary library_;
    const ProbeReport& report_;
    StatusName name_;
};

} // namespace rekindle::doctor
