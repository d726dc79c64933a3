#pragma once
/// Binds walk-forward, search and backtest.

#include <nanobind/nanobind.h>

namespace rekindle::python {

void bind_research(nanobind::module_& module);

} // namespace rekindle::python
