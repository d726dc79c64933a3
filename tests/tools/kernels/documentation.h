#pragma once

#include <rekindle/kernels/kernel.h>

#include <iosfwd>
#include <string>

namespace rekindle::kernel_tool {

/// "float64, storage_16bit"; empty without features.
std::string names_of(kernels::Features features);

/// Writes docs/reference/kernels.md: a row for each kernel.
void write_documentation(std::ostream& out);

} // namespace rekindle::kernel_tool
