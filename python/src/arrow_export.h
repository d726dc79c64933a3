#pragma once
/// Passes tables to other libraries through the Arrow C data interface (rekindle/market/arrow_abi.h), in the
/// capsules of the Arrow PyCapsule interface:
/// https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html.

#include "table.h"

namespace rekindle::python {

/// A capsule named "arrow_schema".
nanobind::capsule schema_capsule(const Table& table);
/// A capsule named "arrow_array_stream" with all rows in one batch. Contiguous values are shared, not copied.
nanobind::capsule stream_capsule(const Table& table);

} // namespace rekindle::python
