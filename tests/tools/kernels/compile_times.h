#pragma once
/// How long a driver compiles the pipelines that a program used.

#include <rekindle/runtime/device.h>

#include <iosfwd>

namespace rekindle::kernel_tool {

/// Reads the lines "compiled KERNEL (CONSTANT = VALUE, …) in N ms" of a log (REKINDLE_LOG=1; other lines are
/// skipped), compiles each pipeline on the device, one after the other, and prints its milliseconds, the
/// slowest first, then the sum. Pipelines that the device cannot have are counted. Returns the exit status: 1
/// if there was none. Throws std::runtime_error for a kernel that does not exist.
int compile_times(runtime::Device& device, std::istream& log, std::ostream& out);

} // namespace rekindle::kernel_tool
