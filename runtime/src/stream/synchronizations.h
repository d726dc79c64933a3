#pragma once
/// Waits that the calling thread asked for. Private to the library.

#include <rekindle/runtime/stream.h>

namespace rekindle::runtime {

/// What thread_synchronizations() returns; incremented by the functions that wait.
Synchronizations& counted_synchronizations() noexcept;
/// The calling thread's Stream::set_correlation.
std::uint64_t thread_correlation() noexcept;
/// The calling thread's Stream::set_operation; nullptr: none.
const char* thread_operation() noexcept;

} // namespace rekindle::runtime
