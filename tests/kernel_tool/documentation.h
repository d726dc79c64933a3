#pragma once

#include <iosfwd>

namespace rekindle::kernel_tool {

/// docs/kernels.md: a row for each kernel of the registry.
void write_documentation(std::ostream& out);

} // namespace rekindle::kernel_tool
