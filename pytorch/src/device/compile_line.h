#pragma once
/// The line on standard error that says why the first step takes so long.

#include <rekindle/runtime/device.h>

namespace rvk {

/// A callback that prints how many kernels have been compiled: on a terminal, it updates one line; elsewhere,
/// it prints one line at the first report. Empty if REKINDLE_PROGRESS=0.
rekindle::runtime::CompileProgressCallback compile_line();

} // namespace rvk
