#include "verify/checks.h"

#include <rekindle/base/clock.h>
#include <rekindle/base/text.h>
#include <rekindle/mlp/matrix_product.h>
#include <rekindle/mlp/population.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace rekindle::mlp::verify {

namespace {

VerifyRow measured(std::string name, std::string unit, double value) {
    VerifyRow row = stated("speed", std::move(name), VerifyRow::Outcome::measured, {});
    row.unit = std::move(unit);
    row.value = value;
    return row;
}

double seconds_of(runtime::Stream& stream, const std::function<void()>& work) {
    stream.synchronize();
    const auto start = std::chrono::steady_clock::now();
    work();
    stream.synchronize();
    return seconds_since(start);
}

/// Random numbers with magnitudes between 1/8 and 1/4 and both signs: products of constants or zeros can be
/// faster than real ones.
void fill_with_random(runtime::Stream& stream, const runtime::Buffer& buffer, bool half) {
    std::mt19937 random(3);
    std::vector<std::uint32_t> words(std::min<std::uint64_t>(buffer.bytes(), 1 << 20) / 4);
    for (std::uint32_t& word : words)
        word = (static_cast<std::uint32_t>(random()) & (half ? 0x83ff83ffu : 0x807fffffu)) |
               (half ? 0x30003000u : 0x3e000000u);
    stream.upload(buffer.pointer(), std::as_bytes(std::span(words)));
    for (std::uint64_t filled = words.size() * 4; filled < buffer.bytes();) {
        const std::uint64_t next = std::min(filled, buffer.bytes() - filled);
        stream.copy(buffer.pointer() + filled, buffer.pointer(), next);
        filled += next;
    }
}

/// A square product whose size doubles until one takes long enough to measure, or until memory would become
/// large.
void measure_product(const std::shared_ptr<runtime::Device>& device, bool half, double seconds,
                     const AddRow& add) {
    constexpr std::uint32_t largest = 8192;
    const std::uint64_t element = half ? 2 : 4;
    const auto stream = device->make_stream();
    double rate = 0;
    std::uint32_t size = 256;
    for (;; size *= 2) {
        const std::uint64_t elements = std::uint64_t{size} * size;
        const auto allocate = [&](std::uint64_t bytes) {
            return device->allocator().allocate(bytes, runtime::MemoryKind::device, stream.get());
        };
        const runtime::Buffer a = allocate(elements * element), b = allocate(elements * element),
                              c = allocate(elements * 4);
        fill_with_random(*stream, a, half);
        fill_with_random(*stream, b, half);
        const auto product = [&] {
            const DeviceMatrix ma{a.pointer(), size, size, size}, mb{b.pointer(), size, size, size},
                mc{c.pointer(), size, size, size};
            if (half)
                matrix_product_half(*device, *stream, ma, mb, mc);
            else
                matrix_product(*stream, ma, mb, mc);
        };
        product();
        const double once = seconds_of(*stream, product);
        const bool last = once * 8 > seconds || size == largest;
        if (!last)
            continue;
        const int repeats = std::max(1, static_cast<int>(seconds / once));
        const double all = seconds_of(*stream, [&] {
            for (int i = 0; i < repeats; ++i)
                product();
        });
        rate = 2.0 * size * size * size * repeats / all / 1e9;
        break;
    }
    add(measured(std::string(half ? "float16" : "float32") + " matrix product, " + std::to_string(size) +
                     " x " + std::to_string(size),
                 "GFLOP/s", rate));
}

void measure_population(const std::shared_ptr<runtime::Device>& device, const std::string& name,
                        const ModelDescription& model, double clip_norm, std::size_t batch_size,
                        std::size_t members, double seconds, const AddRow& add) {
    std::vector<TrainingSpec> specs(members);
    for (std::size_t m = 0; m < members; ++m) {
        specs[m].seed = 42 + m;
        specs[m].clip_norm = clip_norm;
    }
    const auto population = gpu_population(device, model, std::move(specs));
    population->initialize();
    add(measured(name + ", " + counted(members, "network"), "network-steps/s",
                 measure_speed(*population, batch_size, seconds).network_steps_per_second));
}

} // namespace

void measure_speeds(const std::shared_ptr<runtime::Device>& device, double seconds, const AddRow& add) {
    measure_product(device, false, seconds, add);
    if (has_matrix_product_half(*device))
        measure_product(device, true, seconds, add);
    const bool is_cpu = device->info().type == runtime::DeviceType::cpu;
    const std::size_t small[] = {32, 16}, usual[] = {128, 64};
    for (const std::size_t members : {std::size_t{1}, is_cpu ? std::size_t{64} : std::size_t{4096}})
        measure_population(device, "16-32-16-1, batch 8", ModelDescription::plain(16, small), 0, 8, members,
                           seconds, add);
    for (const std::size_t members : {std::size_t{1}, is_cpu ? std::size_t{16} : std::size_t{1024}})
        measure_population(device, "default 54-128-64-1, batch 32",
                           ModelDescription::default_network(54, usual, 0.4), 1, 32, members, seconds, add);
}

} // namespace rekindle::mlp::verify
