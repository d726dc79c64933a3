/// Measures what a stream costs the host: a launch with three accesses (of a Pipeline and by names; of
/// kernels that depend on each other and of kernels that do not), a block of parameters, an event, and a
/// submit with its wait.
///
///     launch_benchmark [DEVICE]        (default gpu; anything that select_device accepts)
///
/// Launches are timed in runs of 15, which are recorded and submitted later, and in runs of 200 with the
/// submits that the stream makes meanwhile; waiting for the device is not timed. Figures are medians of 51
/// runs, with the methods alternating, in nanoseconds of this thread's CPU time, including the driver's (a
/// CPU driver runs kernels in other threads); "submit and wait" is wall time.

#include "device_benchmark.h"

#include <rekindle/kernels/families/testing.h>
#include <rekindle/runtime/stream.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace rekindle::runtime;
using namespace rekindle::benchmarks;

constexpr std::size_t launches = 200, few = 15; // few: fewer than a stream submits on its own
constexpr int rounds = 51;

/// Nanoseconds for one call.
template <class Call>
double timed(std::size_t calls, Call call) {
    const double start = processor_nanoseconds();
    for (std::size_t i = 0; i < calls; ++i)
        call(i);
    return (processor_nanoseconds() - start) / static_cast<double>(calls);
}

void run(Device& device) {
    const std::unique_ptr<Stream> stream = device.make_stream();

    std::vector<Buffer> buffers;
    for (std::size_t i = 0; i < launches + 1; ++i)
        buffers.push_back(device.allocator().allocate(256, MemoryKind::device, stream.get()));
    for (const Buffer& b : buffers)
        stream->fill(b.pointer(), 256, 1);
    const rekindle::kernels::TestingConstants constants{.factor = 5};
    const Pipeline& pipeline = device.prepare(rekindle::kernels::test_combine, constants.list());
    const auto launch = [&](bool by_names, const Buffer& result, const Buffer& first, const Buffer& second) {
        rekindle::kernels::TestingParameters p;
        p.result = result.pointer().address;
        p.first = first.pointer().address;
        p.second = second.pointer().address;
        p.count = 64;
        const std::array accesses{writes(result), reads(first), reads(second)};
        if (by_names)
            stream->launch(rekindle::kernels::test_combine, {1, 1, 1}, p, accesses, constants, 1e-6);
        else
            stream->launch(pipeline, {1, 1, 1}, p, accesses, 1e-6);
    };
    std::vector<double> named, independent, dependent, submitted, block, event, round_trip;
    for (int round = -5; round < rounds; ++round) {
        const auto note = [&](std::vector<double>& list, double figure) {
            stream->synchronize();
            if (round >= 0)
                list.push_back(figure);
        };
        const auto alone = [&](bool by_names) {
            return [&launch, &buffers, by_names](std::size_t i) {
                launch(by_names, buffers[i], buffers.back(), buffers.back());
            };
        };
        note(named, timed(few, alone(true)));
        note(independent, timed(few, alone(false)));
        note(dependent, timed(few, [&](std::size_t i) {
                 launch(false, buffers[i], buffers[i == 0 ? launches : i - 1], buffers.back());
             }));
        note(submitted, timed(launches, alone(false)));
        note(block, timed(launches, [&](std::size_t) { stream->transient(256).host[0] = std::byte{1}; }));
        note(event, timed(launches, [&](std::size_t) { stream->record(); }));
        const auto start = std::chrono::steady_clock::now();
        launch(false, buffers[0], buffers[1], buffers[2]);
        stream->synchronize();
        note(round_trip,
             std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
    }
    std::printf("launch by names, independent kernels     %9.0f ns\n", median(named));
    std::printf("launch of a Pipeline, independent kernels %8.0f ns\n", median(independent));
    std::printf("launch, each needs the previous one      %9.0f ns\n", median(dependent));
    std::printf("launch with its share of the submits     %9.0f ns\n", median(submitted));
    std::printf("transient block of 256 bytes             %9.0f ns\n", median(block));
    std::printf("event                                    %9.0f ns\n", median(event));
    std::printf("launch, submit and wait                  %9.0f ns\n", median(round_trip));
}

} // namespace

int main(int count, char** arguments) {
    return run_on_device("launch_benchmark", count, arguments, run);
}
