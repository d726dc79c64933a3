#pragma once
/// A driver's report about a pipeline's machine code, in columns that scripts read.

#include <rekindle/kernels/kernel.h>
#include <rekindle/runtime/device.h>

#include <iosfwd>
#include <span>

namespace rekindle::kernel_tool {

/// The columns' names, separated by tabs: kernel, case, vgprs, sgprs, spilled_vgprs, …
void write_header(std::ostream& out);
/// One line of the columns. Throws std::runtime_error if the driver did not report one of them.
void write_row(std::ostream& out, const kernels::Kernel& kernel, const kernels::AuditCase& one,
               std::span<const runtime::PipelineStatistic> statistics);

} // namespace rekindle::kernel_tool
