/// What a stream costs the host: a launch of a prepared kernel (kernels that depend on each other, and
/// kernels that do not), an event, and a submit with its wait.
///
///     launch_benchmark [DEVICE]        (default gpu; anything that select_device takes)
///
/// Launches are timed in runs of 200, which one submit holds; the device's work is waited for outside the
/// timed part. Figures are medians of 51 runs, the methods alternating.

#include <rekindle/kernels/launchers.h>
#include <rekindle/runtime/device.h>
#include <rekindle/runtime/stream.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace rekindle::runtime;
using rekindle::kernels::ConstantValue;

constexpr std::size_t launches = 200;
constexpr int rounds = 51;

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// Nanoseconds of one call.
template <class Call>
double timed(std::size_t calls, Call call) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < calls; ++i)
        call(i);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    return took.count() / static_cast<double>(calls);
}

int run(const std::string& which) {
    DeviceOptions options;
    options.self_test = false;
    const std::shared_ptr<Device> device = Device::open(select_device(which), options);
    const std::unique_ptr<Stream> stream = device->make_stream();
    std::printf("%s: %s\n", device->info().address().c_str(), device->info().name.c_str());

    std::vector<Buffer> buffers;
    for (std::size_t i = 0; i < launches + 1; ++i)
        buffers.push_back(device->allocator().allocate(256, MemoryKind::device, stream.get()));
    for (const Buffer& b : buffers)
        stream->fill(b.pointer(), 256, 1);
    const std::array constants{ConstantValue{"factor", 5}};
    const auto launch = [&](const Buffer& result, const Buffer& first, const Buffer& second) {
        rekindle::kernels::TestingParameters p;
        p.result = result.pointer().address;
        p.first = first.pointer().address;
        p.second = second.pointer().address;
        p.count = 64;
        stream->launch(rekindle::kernels::test_combine, {1, 1, 1}, p,
                       std::array{writes(result), reads(first), reads(second)}, constants, 1e-6);
    };
    std::vector<double> independent, dependent, round_trip, empty_event;
    for (int round = -5; round < rounds; ++round) {
        const double a =
            timed(launches, [&](std::size_t i) { launch(buffers[i], buffers.back(), buffers.back()); });
        stream->synchronize();
        const double b = timed(launches, [&](std::size_t i) {
            launch(buffers[i], buffers[i == 0 ? launches : i - 1], buffers.back());
        });
        stream->synchronize();
        const double c = timed(1, [&](std::size_t) {
            launch(buffers[0], buffers[1], buffers[2]);
            stream->synchronize();
        });
        const double d = timed(launches, [&](std::size_t) { stream->record(); });
        if (round < 0)
            continue;
        independent.push_back(a);
        dependent.push_back(b);
        round_trip.push_back(c);
        empty_event.push_back(d);
    }
    std::printf("launch, independent kernels      %9.0f ns\n", median(independent));
    std::printf("launch, each needs the one before %8.0f ns\n", median(dependent));
    std::printf("event                            %9.0f ns\n", median(empty_event));
    std::printf("launch, submit and wait          %9.0f ns\n", median(round_trip));
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    try {
        return run(count > 1 ? arguments[1] : "gpu");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "launch_benchmark: %s\n", e.what());
        return 1;
    }
}
