#pragma once
/// With which exception of a Python program a log ends.

#include <rekindle/doctor/diagnosis.h>

#include <string>

namespace rekindle::doctor {

/// "KeyError in train.py:77": the last exception after a traceback, and the innermost frame that is in the
/// user's own files. "" if the log does not end with an exception, or if its text is about a GPU, its driver
/// or a library that cannot be loaded.
std::string program_ending(const LogText& log);

} // namespace rekindle::doctor
