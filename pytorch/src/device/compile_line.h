#pragma once
/// The line on standard error that tells why the first step takes long.

#include <rekindle/runtime/device.h>

namespace rvk {

/// Prints how many kernels are compiled: on a terminal one line that is rewritten, elsewhere one line at the
/// first report. Empty, so that nothing is printed, with REKINDLE_PROGRESS=0.
rekindle::runtime::CompileProgressCallback compile_line();

} // namespace rvk
