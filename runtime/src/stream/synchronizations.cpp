#include "stream/synchronizations.h"

namespace rekindle::runtime {

namespace {

struct ThreadValues {
    Synchronizations synchronizations;
    std::uint64_t correlation = 0;
    const char* operation = nullptr;
};

ThreadValues& thread_values() noexcept {
    thread_local constinit ThreadValues values;
    return values;
}

} // namespace

Synchronizations& counted_synchronizations() noexcept {
    return thread_values().synchronizations;
}

Synchronizations thread_synchronizations() noexcept {
    return thread_values().synchronizations;
}

std::uint64_t thread_correlation() noexcept {
    return thread_values().correlation;
}

const char* thread_operation() noexcept {
    return thread_values().operation;
}

void Stream::set_operation(const char* name) noexcept {
    thread_values().operation = name;
}

void Stream::set_correlation(std::uint64_t correlation) noexcept {
    thread_values().correlation = correlation;
}

} // namespace rekindle::runtime
