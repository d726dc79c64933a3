/// Measures what a block of device memory costs: from the cache of the runtime's allocator, compared with one
/// from the driver each time (the same Allocator with its cache emptied in between) and with malloc and free
/// of the C library, which involve no device.
///
///     allocator_benchmark [DEVICE]        (default gpu; anything that select_device accepts)
///
/// A round takes and releases blocks in random order with up to 256 alive; figures are medians of seven
/// rounds, with the methods alternating, in nanoseconds of this thread's CPU time for one allocation with its
/// release.

#include "device_benchmark.h"

#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

using namespace rekindle::runtime;
using namespace rekindle::benchmarks;

constexpr std::size_t alive = 256;
constexpr int rounds = 7;

/// xorshift64*: generating the order must cost next to nothing.
struct Random {
    std::uint64_t state = 88172645463325252ull;
    std::uint64_t next() {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return state * 2685821657736338717ull >> 11;
    }
};

/// Nanoseconds for one allocation and release.
template <class Allocate>
double measure(std::size_t count, std::uint64_t smallest, std::uint64_t largest, Allocate allocate) {
    Random random;
    std::vector<decltype(allocate(smallest))> held(alive);
    const double start = processor_nanoseconds();
    for (std::size_t i = 0; i < count; ++i)
        held[random.next() % alive] = allocate(smallest + random.next() % (largest - smallest + 1));
    held.clear();
    return (processor_nanoseconds() - start) / static_cast<double>(count);
}

struct Freed {
    void operator()(void* p) const { std::free(p); }
};

void compare(Device& device, Stream& stream, const char* name, std::uint64_t smallest,
             std::uint64_t largest) {
    Allocator& allocator = device.allocator();
    std::vector<double> cached, uncached, library;
    const auto from_cache = [&](std::uint64_t bytes) {
        return allocator.allocate(bytes, MemoryKind::device, &stream);
    };
    for (int round = 0; round <= rounds; ++round) { // the first round fills the cache
        const double a = measure(50'000, smallest, largest, from_cache);
        const double b = measure(50'000, smallest, largest, [](std::uint64_t bytes) {
            return std::unique_ptr<void, Freed>(std::malloc(bytes));
        });
        if (round == 0)
            continue;
        cached.push_back(a);
        library.push_back(b);
    }
    for (int round = 0; round < rounds; ++round) {
        allocator.empty_cache();
        const double start = processor_nanoseconds();
        for (int i = 0; i < 20; ++i) {
            from_cache(largest);
            allocator.empty_cache();
        }
        uncached.push_back((processor_nanoseconds() - start) / 20);
    }
    std::printf("%-20s %12.0f %14.0f %10.0f %9.0f x %9.1f x\n", name, median(cached), median(uncached),
                median(library), median(uncached) / median(cached), median(library) / median(cached));
}

void run(Device& device) {
    const std::unique_ptr<Stream> stream = device.make_stream();
    std::printf("%-20s %12s %14s %10s %11s %11s\n", "bytes", "cached, ns", "driver, ns", "malloc, ns",
                "driver/", "malloc/");
    compare(device, *stream, "1000", 1000, 1000);
    compare(device, *stream, "1 to 65536", 1, 65'536);
    compare(device, *stream, "64 Ki to 1 Mi", 64 << 10, 1 << 20);
    compare(device, *stream, "1 Mi to 8 Mi", 1 << 20, 8 << 20);
    const MemoryStatistics s = device.allocator().statistics(MemoryKind::device);
    std::printf("allocations %llu, of the driver %llu, retries %llu, out of memory %llu\n",
                static_cast<unsigned long long>(s.allocations),
                static_cast<unsigned long long>(s.driver_allocations),
                static_cast<unsigned long long>(s.retries), static_cast<unsigned long long>(s.out_of_memory));
}

} // namespace

int main(int count, char** arguments) {
    return run_on_device("allocator_benchmark", count, arguments, run);
}
