#pragma once
/// Time that has passed.

#include <chrono>

namespace rekindle {

/// Seconds of wall time since then.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace rekindle
