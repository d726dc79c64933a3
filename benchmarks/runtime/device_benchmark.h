#pragma once
/// Shared by the benchmarks of the runtime.

#include <rekindle/runtime/device.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <vector>

namespace rekindle::benchmarks {

/// The upper one of an even number of values, of which there must be at least one.
inline double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// CPU time of the calling thread.
inline double processor_nanoseconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// The main() of a benchmark: opens the device that the first argument names, by default "gpu", prints its
/// name, and calls `run`. Prints exceptions to stderr. Returns the exit status.
inline int run_on_device(const char* program, int count, char** arguments, void (*run)(runtime::Device&)) {
    try {
        runtime::DeviceOptions options;
        options.self_test = false;
        const std::shared_ptr<runtime::Device> device =
            runtime::Device::open(runtime::select_device(count > 1 ? arguments[1] : "gpu"), options);
        std::printf("%s: %s\n", device->info().address().c_str(), device->info().name.c_str());
        run(*device);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s: %s\n", program, e.what());
        return 1;
    }
}

} // namespace rekindle::benchmarks
