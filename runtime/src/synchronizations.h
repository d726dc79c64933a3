#pragma once
/// Waits that the calling thread asked for. Private to the library.

#include <rekindle/runtime/stream.h>

namespace rekindle::runtime {

/// What thread_synchronizations() tells, to be counted up by what waits.
Synchronizations& counted_synchronizations() noexcept;
/// Of the calling thread, Stream::set_correlation.
std::uint64_t thread_correlation() noexcept;
/// Of the calling thread, Stream::set_operation; nullptr: none.
const char* thread_operation() noexcept;

} // namespace rekindle::runtime
