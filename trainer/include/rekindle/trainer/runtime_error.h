#pragma once
/// The runtime's failures as errors for the user.

#include <exception>
#include <string>

namespace rekindle::trainer {

inline constexpr const char* doctor_hint =
    "rekindle doctor shows what is missing; --device cpu trains without a GPU.";

/// Throws `failure` as Error: a runtime::Error with its hint and doctor_hint, status usage when the device
/// does not support the job; anything else as an internal error. `where` is the option or device that it is
/// about, "" for none.
[[noreturn]] void throw_as_error(const std::exception& failure, const std::string& where);

} // namespace rekindle::trainer
