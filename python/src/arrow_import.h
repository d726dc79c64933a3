#pragma once
/// Imports tables from other Python libraries.

#include <rekindle/market/arrow_table.h>

#include <nanobind/nanobind.h>

namespace rekindle::python {

/// Imports an object with __arrow_c_stream__ or __arrow_c_array__. Throws nb::type_error for any other
/// object, and Error like ArrowTable::read().
market::ArrowTable import_table(nanobind::handle object);

} // namespace rekindle::python
