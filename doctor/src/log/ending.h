#pragma once
/// Finds the Python exception that a log ends with.

#include <rekindle/doctor/diagnosis.h>

#include <string>

namespace rekindle::doctor {

/// Returns the exception of the last traceback and the innermost frame in the user's own files: "KeyError in
/// train.py:77". Returns "" if the log does not end with an exception, or if its message is about a GPU, a
/// driver, or a library that cannot be loaded.
std::string program_ending(const LogText& log);

} // namespace rekindle::doctor
