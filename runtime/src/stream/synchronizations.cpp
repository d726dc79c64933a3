#include "stream/synchronizations.h"

namespace rekindle::runtime {

namespace {

struct OfThread {
    Synchronizations synchronizations;
    std::uint64_t correlation = 0;
    const char* operation = nullptr;
};

OfThread& of_thread() noexcept {
    thread_local constinit OfThread values;
    return values;
}

} // namespace

Synchronizations& counted_synchronizations() noexcept {
    return of_thread().synchronizations;
}

Synchronizations thread_synchronizations() noexcept {
    return of_thread().synchronizations;
}

std::uint64_t thread_correlation() noexcept {
    return of_thread().correlation;
}

const char* thread_operation() noexcept {
    return of_thread().operation;
}

void Stream::set_operation(const char* name) noexcept {
    of_thread().operation = name;
}

void Stream::set_correlation(std::uint64_t correlation) noexcept {
    of_thread().correlation = correlation;
}

} // namespace rekindle::runtime
