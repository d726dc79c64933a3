#pragma once

#include <iosfwd>

namespace rekindle::kernel_tool {

/// Writes docs/reference/kernels.md: a row for each kernel in the registry.
void write_documentation(std::ostream& out);

} // namespace rekindle::kernel_tool
