#pragma once
/// Turns failures of devices into errors with hints.

#include <rekindle/runtime/error.h>
#include <rekindle/trainer/runtime_error.h>

namespace rekindle::research {

/// Calls `call` and turns the runtime's failures into errors with hints.
template <class Call>
auto on_device(const Call& call) {
    try {
        return call();
    } catch (const runtime::Error& error) {
        trainer::throw_as_error(error, "--device");
    }
}

} // namespace rekindle::research
