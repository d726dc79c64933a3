#pragma once
/// Errors of the libraries as Python's exceptions.

namespace rekindle::python {

/// Turns rekindle::Error into the Python exception rekindle_train.RekindleError (or its subclass UsageError),
/// and the runtime's errors likewise.
void register_errors();

} // namespace rekindle::python
