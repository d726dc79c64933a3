#pragma once
/// A driver's report about a pipeline's machine code, in columns that scripts read.

#include <rekindle/kernels/kernel.h>
#include <rekindle/runtime/device.h>

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string_view>

namespace rekindle::kernel_tool {

/// The columns' names, separated by tabs: kernel, case, vgprs, sgprs, spilled_vgprs, …
void write_header(std::ostream& out);
/// The statistic of this name. Throws std::runtime_error if the driver did not report it.
std::uint64_t value_of(std::string_view statistic, std::span<const runtime::PipelineStatistic> statistics);
/// One line of the columns. Throws std::runtime_error if the driver did not report one of them.
void write_row(std::ostream& out, const kernels::Kernel& kernel, const kernels::AuditCase& one,
               std::span<const runtime::PipelineStatistic> statistics);

} // namespace rekindle::kernel_tool
