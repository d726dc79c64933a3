#include "verify/attention.h"
#include "verify/checks.h"

#include <rekindle/base/clock.h>
#include <rekindle/base/text.h>
#include <rekindle/kernels/families/product.h>
#include <rekindle/mlp/population.h>
#include <rekindle/products/multiply.h>
#include <rekindle/products/planner.h>

#include <algorithm>
#include <bit>
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
void fill_with_random(runtime::Stream& stream, const runtime::Buffer& buffer, ElementType type) {
    // random_bits selects signs and fractions; fixed_bits sets the exponents.
    const auto [random_bits, fixed_bits] = type == ElementType::float32 ? std::pair{0x807fffffu, 0x3e000000u}
                                           : type == ElementType::float16
                                               ? std::pair{0x83ff83ffu, 0x30003000u}
                                               : std::pair{0x807f807fu, 0x3e003e00u};
    std::mt19937 random(3);
    std::vector<std::uint32_t> words(std::min<std::uint64_t>(buffer.bytes(), 1 << 20) / 4);
    for (std::uint32_t& word : words)
        word = (static_cast<std::uint32_t>(random()) & random_bits) | fixed_bits;
    stream.upload(buffer.pointer(), std::as_bytes(std::span(words)));
    for (std::uint64_t filled = words.size() * 4; filled < buffer.bytes();) {
        const std::uint64_t next = std::min(filled, buffer.bytes() - filled);
        stream.copy(buffer.pointer() + filled, buffer.pointer(), next);
        filled += next;
    }
}

/// Calls of `work` per second, measured for about `seconds`; one call takes about `once` seconds.
double rate_of(runtime::Stream& stream, double seconds, double once, const std::function<void()>& work) {
    const int repeats = std::max(1, static_cast<int>(seconds / once));
    return repeats / seconds_of(stream, [&] {
               for (int i = 0; i < repeats; ++i)
                   work();
           });
}

/// A square product whose size doubles until it takes long enough to measure, or until memory would become
/// large, with the plan that training uses; on the matrix units if the device has them for this type.
void measure_product(const std::shared_ptr<runtime::Device>& device, ElementType type, double seconds,
                     const AddRow& add) {
    constexpr std::int64_t largest = 8192;
    const products::Planner planner = products::Planner::calibrated(*device, {});
    const auto stream = device->make_stream();
    double rate = 0;
    std::int64_t size = 256;
    for (;; size *= 2) {
        const auto bytes = static_cast<std::uint64_t>(size * size) * bytes_of(type);
        const auto allocate = [&] {
            return device->allocator().allocate(bytes, runtime::MemoryKind::device, stream.get());
        };
        const runtime::Buffer a = allocate(), b = allocate(), c = allocate();
        fill_with_random(*stream, a, type);
        fill_with_random(*stream, b, type);
        const auto matrix = [&](const runtime::Buffer& buffer) {
            return products::Matrix{buffer.pointer().address, size, size, size, 1, 0};
        };
        const products::Product work{.type = type,
                                     .dtype = products::dtype_of(type),
                                     .result_dtype = products::dtype_of(type),
                                     .element_bytes = bytes_of(type),
                                     .a = matrix(a),
                                     .b = matrix(b),
                                     .c = matrix(c),
                                     .alpha = std::bit_cast<std::uint32_t>(1.0f)};
        const products::Plan plan = planner.plan(work.shape());
        const auto product = [&] {
            products::queue_product(*device, *stream, work, plan,
                                    {runtime::reads(a), runtime::reads(b), runtime::writes(c), {}});
        };
        product();
        const double once = seconds_of(*stream, product);
        if (once * 8 > seconds || size == largest) {
            const auto n = static_cast<double>(size);
            rate = 2 * n * n * n * rate_of(*stream, seconds, once, product) / 1e9;
            break;
        }
    }
    add(measured(std::string(products::name(type)) + " matrix product, " + std::to_string(size) + " x " +
                     std::to_string(size),
                 "GFLOP/s", rate));
}

/// Attention with 8 x 12 heads of 64 columns, or fewer where that takes long; on the matrix units if the
/// device has them for this type.
void measure_attention(const std::shared_ptr<runtime::Device>& device, ElementType type, double seconds,
                       const AddRow& add) {
    const bool is_cpu = device->info().type == runtime::DeviceType::cpu;
    AttentionCase attention{.type = type,
                            .on_units = unit_attention(*device, type, 64).has_value(),
                            .batch = 1,
                            .heads = 12,
                            .queries = is_cpu ? 8u : 128u, // with so few rows, the pipelines of the checks
                                                           // are reused
                            .keys = is_cpu ? 8u : 128u,
                            .width = 64,
                            .value_width = 64};
    const auto stream = device->make_stream();
    for (;;) {
        DeviceAttention on_device(*device, *stream, attention, AttentionOperands(attention));
        const auto forward = [&] { on_device.forward(); };
        const auto backward = [&] { on_device.backward(); };
        forward();
        backward();
        const double once = seconds_of(*stream, forward), once_backward = seconds_of(*stream, backward);
        const bool slow = once_backward * 8 * 64 > seconds; // the larger one takes about 128 times as long
        if (attention.batch == 1 && !slow && !is_cpu) {
            attention.batch = 8;
            attention.queries = attention.keys = 512;
            continue;
        }
        const std::string sizes = std::to_string(attention.batch) + " x " + std::to_string(attention.heads) +
                                  " x " + std::to_string(attention.queries) + " x " +
                                  std::to_string(attention.width);
        // By convention, counts two products forward and five backward, without recomputation.
        const double product = 2 * attention.multiplications() / 1e9;
        add(measured(std::string(products::name(type)) + " attention, " + sizes, "GFLOP/s",
                     2 * product * rate_of(*stream, seconds, once, forward)));
        add(measured(std::string(products::name(type)) + " attention's gradients, " + sizes, "GFLOP/s",
                     5 * product * rate_of(*stream, seconds, once_backward, backward)));
        return;
    }
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
    const bool is_cpu = device->info().type == runtime::DeviceType::cpu;
    for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::bfloat16}) {
        if (device->usable_features().contains(kernels::product_32x32.kernel.needs))
            measure_product(device, type, seconds, add);
    }
    for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::bfloat16}) {
        if (has_attention(*device) && (type == ElementType::float32 || !is_cpu))
            measure_attention(device, type, seconds, add);
    }
    const std::size_t small[] = {32, 16}, usual[] = {128, 64};
    for (const std::size_t members : {std::size_t{1}, is_cpu ? std::size_t{64} : std::size_t{4096}})
        measure_population(device, "16-32-16-1, batch 8", ModelDescription::plain(16, small), 0, 8, members,
                           seconds, add);
    for (const std::size_t members : {std::size_t{1}, is_cpu ? std::size_t{16} : std::size_t{1024}})
        measure_population(device, "default 54-128-64-1, batch 32",
                           ModelDescription::default_network(54, usual, 0.4), 1, 32, members, seconds, add);
}

} // namespace rekindle::mlp::verify
