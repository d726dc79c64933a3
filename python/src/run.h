#pragma once
/// Training and predictions.

#include <nanobind/nanobind.h>

namespace rekindle::python {

void bind_run(nanobind::module_& module);

} // namespace rekindle::python
