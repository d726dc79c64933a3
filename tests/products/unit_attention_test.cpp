/// Attention on matrix units: every kernel that the device can run, launched directly so that these kernels
/// ran if a test passes, also those that another kernel replaces on this device. Compared with sums in
/// double; memory outside the operands is NaN, so that reading it shows.

#include "../runtime/fixture.h"
#include "sixteen_bits.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/attention_units.h>
#include <rekindle/products/unit_attention.h>
#include <rekindle/runtime/stream.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace rekindle::products {
namespace {

using kernels::ceil_div;
using namespace runtime;
using test::bits_of;
using test::nan_of;
using test::number_of;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Half a unit in the last place of a number near 1.
double rounding(ElementType type) {
    return type == ElementType::bfloat16 ? 0x1p-8 : 0x1p-11;
}

struct AttentionCase {
    std::uint32_t queries, keys, width, value_width;
    bool causal = false, has_bias = false;
    std::uint32_t padding = 0;      ///< numbers between rows
    bool heads_within_rows = false; ///< the tensors are [batch, rows, heads, columns] in memory
    std::uint32_t batch = 1, heads = 2;

    std::uint32_t blocks() const { return batch * heads; }
    float scale() const { return 0.75f / std::sqrt(static_cast<float>(width)) * 4; }
    bool in_eights() const { return width % 8 == 0 && value_width % 8 == 0 && padding % 8 == 0; }
    std::string text() const {
        return std::to_string(queries) + " queries, " + std::to_string(keys) + " keys, widths " +
               std::to_string(width) + " and " + std::to_string(value_width) + (causal ? ", causal" : "") +
               (has_bias ? ", bias" : "") + ", padding " + std::to_string(padding);
    }
};

/// Rows of random numbers for every head, and the same in 16 bits.
struct HeadRows {
    std::uint32_t rows, columns;
    std::vector<double> numbers; ///< [batch, head, row, column]
    std::vector<std::uint16_t> memory;
    std::vector<std::uint64_t> strides; ///< batch, head, row

    HeadRows(ElementType type, const AttentionCase& c, std::uint32_t row_count, std::uint32_t column_count,
             unsigned seed)
        : rows(row_count), columns(column_count), numbers(std::size_t{c.blocks()} * rows * columns) {
        const std::uint64_t row = columns + c.padding;
        strides = c.heads_within_rows ? std::vector<std::uint64_t>{rows * c.heads * row, row, c.heads * row}
                                      : std::vector<std::uint64_t>{c.heads * rows * row, rows * row, row};
        memory.assign(std::size_t{c.blocks()} * rows * row + 64, nan_of(type));
        std::mt19937 engine(seed);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const float number = static_cast<float>(static_cast<int>(engine() % 257) - 128) / 64;
            numbers[i] = static_cast<double>(number);
            const std::size_t block = i / columns / rows;
            memory[block / c.heads * strides[0] + block % c.heads * strides[1] +
                   i / columns % rows * strides[2] + i % columns] = bits_of(type, number);
        }
    }
    const double* row(std::size_t block, std::size_t index) const {
        return &numbers[(block * rows + index) * columns];
    }
};

double dot(const double* a, const double* b, std::uint32_t count) {
    double sum = 0;
    for (std::uint32_t i = 0; i < count; ++i)
        sum += a[i] * b[i];
    return sum;
}

/// A contiguous result, and how far from it a correct kernel can be.
struct Expected {
    std::vector<double> values, bounds;
    explicit Expected(std::size_t count) : values(count), bounds(count) {}
};

/// Attention and its gradients in double.
struct Reference {
    Expected output, grad_query, grad_key, grad_value;
    std::vector<float> log_sums, dots;

    Reference(ElementType type, const AttentionCase& c, const HeadRows& query, const HeadRows& key,
              const HeadRows& value, const HeadRows& grad, const std::vector<double>& bias)
        : output(std::size_t{c.blocks()} * c.queries * c.value_width),
          grad_query(std::size_t{c.blocks()} * c.queries * c.width),
          grad_key(std::size_t{c.blocks()} * c.keys * c.width),
          grad_value(std::size_t{c.blocks()} * c.keys * c.value_width) {
        for (std::uint32_t block = 0; block < c.blocks(); ++block)
            for (std::uint32_t q = 0; q < c.queries; ++q)
                add_query(c, block, q, query, key, value, grad, bias);
        for (Expected* const e : {&output, &grad_query, &grad_key, &grad_value})
            for (std::size_t i = 0; i < e->values.size(); ++i)
                // The weights are rounded, and so is the result; sums are in float32.
                e->bounds[i] = rounding(type) * (1.1 * e->bounds[i] + std::abs(e->values[i])) +
                               1e-5 * e->bounds[i] + 1e-5;
    }

  private:
    void add_query(const AttentionCase& c, std::uint32_t block, std::uint32_t q, const HeadRows& query,
                   const HeadRows& key, const HeadRows& value, const HeadRows& grad,
                   const std::vector<double>& bias) {
        const std::uint32_t end = c.causal ? std::min(c.keys, q + 1) : c.keys;
        const auto scale = static_cast<double>(c.scale());
        const std::size_t at = std::size_t{block} * c.queries + q;
        std::vector<double> weights(end);
        double largest = -infinity, total = 0;
        for (std::uint32_t k = 0; k < end; ++k) {
            weights[k] = dot(query.row(block, q), key.row(block, k), c.width) * scale +
                         (c.has_bias ? bias[at * c.keys + k] : 0);
            largest = std::max(largest, weights[k]);
        }
        for (double& weight : weights)
            total += weight = largest == -infinity ? 0 : std::exp(weight - largest);
        log_sums.push_back(static_cast<float>(total == 0 ? -infinity : largest + std::log(total)));
        std::vector<double> of_output(c.value_width);
        for (std::uint32_t k = 0; k < end; ++k) {
            weights[k] = total == 0 ? 0 : weights[k] / total;
            for (std::uint32_t i = 0; i < c.value_width; ++i)
                of_output[i] += weights[k] * value.row(block, k)[i];
        }
        const double output_dot = dot(of_output.data(), grad.row(block, q), c.value_width);
        dots.push_back(static_cast<float>(output_dot));
        const auto add = [](Expected& to, std::size_t place, double part, double bound) {
            to.values[place] += part;
            to.bounds[place] += std::abs(bound);
        };
        for (std::uint32_t k = 0; k < end; ++k) {
            const std::size_t of_key = std::size_t{block} * c.keys + k;
            const double product = dot(grad.row(block, q), value.row(block, k), c.value_width);
            const double of_score = weights[k] * (product - output_dot) * scale;
            const double bound = weights[k] * (std::abs(product) + std::abs(output_dot)) * scale;
            for (std::uint32_t i = 0; i < c.value_width; ++i) {
                const double v = value.row(block, k)[i], g = grad.row(block, q)[i];
                add(output, at * c.value_width + i, weights[k] * v, weights[k] * v);
                add(grad_value, of_key * c.value_width + i, weights[k] * g, weights[k] * g);
            }
            for (std::uint32_t i = 0; i < c.width; ++i) {
                const double x = key.row(block, k)[i], y = query.row(block, q)[i];
                add(grad_query, at * c.width + i, of_score * x, bound * x);
                add(grad_key, of_key * c.width + i, of_score * y, bound * y);
            }
        }
    }
};

class UnitAttentionKernels : public runtime::test::DeviceTest {
  protected:
    std::shared_ptr<Device> device = open();
    std::unique_ptr<Stream> stream = device->make_stream();
    DeviceParameters parameters = default_parameters(device->info(), device->usable_features());
    std::set<std::string> launched; ///< names of kernels

    template <class T>
    Buffer buffer(const std::vector<T>& values) {
        const auto bytes = std::as_bytes(std::span(values));
        Buffer memory = device->allocator().allocate(bytes.size(), MemoryKind::device, stream.get());
        stream->upload(memory.pointer(), bytes);
        return memory;
    }

    void compare(ElementType type, const char* name, const Buffer& memory, const Expected& expected) {
        std::vector<std::uint16_t> found(expected.values.size());
        stream->download(std::as_writable_bytes(std::span(found)), memory.pointer());
        for (std::size_t i = 0; i < found.size(); ++i)
            ASSERT_NEAR(static_cast<double>(number_of(type, found[i])), expected.values[i],
                        expected.bounds[i])
                << name << ", element " << i;
    }

    void check(ElementType type, const UnitAttention& passes, const AttentionCase& c) {
        SCOPED_TRACE(std::string(passes.forward.kernel->name) +
                     (passes.forward.constants.in_columns != 0 ? " in columns, " : ", ") + c.text());
        const HeadRows query(type, c, c.queries, c.width, 1), key(type, c, c.keys, c.width, 2),
            value(type, c, c.keys, c.value_width, 3), grad(type, c, c.queries, c.value_width, 4);
        // The keys that a query does not see, by minus infinity: one in seven, and all of the first query's.
        std::vector<double> bias(c.has_bias ? std::size_t{c.blocks()} * c.queries * c.keys : 1);
        std::vector<std::uint16_t> bias_bits;
        std::mt19937 engine(5);
        for (std::size_t i = 0; i < bias.size(); ++i) {
            const std::uint64_t random = engine();
            bias[i] = random % 7 == 0 || i < c.keys ? -infinity : static_cast<double>(random % 64) / 16;
            bias_bits.push_back(bits_of(type, static_cast<float>(bias[i])));
        }
        const Reference expected(type, c, query, key, value, grad, bias);

        const Buffer of_query = buffer(query.memory), of_key = buffer(key.memory),
                     of_value = buffer(value.memory), of_grad = buffer(grad.memory),
                     of_bias = buffer(bias_bits), of_log_sums = buffer(expected.log_sums),
                     of_dots = buffer(expected.dots);
        const auto result = [&](const Expected& e) {
            return buffer(std::vector<std::uint16_t>(e.values.size(), nan_of(type)));
        };
        const Buffer output = result(expected.output), grad_query = result(expected.grad_query),
                     grad_key = result(expected.grad_key), grad_value = result(expected.grad_value);
        const Buffer log_sums =
            buffer(std::vector<float>(expected.log_sums.size(), std::numeric_limits<float>::quiet_NaN()));
        // The words of kernels/attention/operands.slang.
        const auto launch = [&](const UnitPass& pass, std::uint32_t rows, const Buffer& sums) {
            std::vector<std::uint64_t> words;
            for (const Buffer* one : {&of_query, &of_key, &of_value, &of_bias, &output, &sums, &of_grad,
                                      &of_dots, &grad_query, &grad_key, &grad_value})
                words.push_back(one->pointer().address);
            words.resize(13);
            for (const HeadRows* one : {&query, &key, &value, &grad})
                words.insert(words.end(), one->strides.begin(), one->strides.end());
            const std::uint64_t bias_rows = std::uint64_t{c.queries} * c.keys;
            words.insert(words.end(), {c.heads * bias_rows, bias_rows, c.keys, 1});
            words.resize(32);
            words.insert(words.end(), {1, 0, 0}); // heads do not share keys; no dropout
            const Buffer block = buffer(words);
            const auto row_bytes = [](const HeadRows& one) {
                return static_cast<std::uint32_t>(one.strides[2] * 2);
            };
            const kernels::AttentionUnitsParameters sizes{.block = block.pointer().address,
                                                          .queries = c.queries,
                                                          .keys = c.keys,
                                                          .width = c.width,
                                                          .value_width = c.value_width,
                                                          .heads = c.heads,
                                                          .scale = c.scale(),
                                                          .query_stride = row_bytes(query),
                                                          .key_stride = row_bytes(key),
                                                          .value_stride = row_bytes(value),
                                                          .grad_stride = row_bytes(grad)};
            kernels::AttentionUnitsConstants constants = pass.constants;
            constants.causal = c.causal;
            constants.has_bias = c.has_bias;
            constants.in_eights = c.in_eights();
            const std::array accesses{reads(of_query),    reads(of_key),    reads(of_value),
                                      reads(of_bias),     reads(of_grad),   reads(of_dots),
                                      reads(block),       writes(sums),     writes(output),
                                      writes(grad_query), writes(grad_key), writes(grad_value)};
            stream->launch(*pass.kernel, {ceil_div(rows, pass.rows), c.heads, c.batch},
                           std::as_bytes(std::span(&sizes, 1)), accesses, constants.list());
            launched.insert(std::string(pass.kernel->name));
        };
        launch(passes.forward, c.queries, log_sums);
        compare(type, "output", output, expected.output);
        std::vector<float> found_sums(expected.log_sums.size());
        stream->download(std::as_writable_bytes(std::span(found_sums)), log_sums.pointer());
        for (std::size_t i = 0; i < found_sums.size(); ++i) {
            if (std::isinf(expected.log_sums[i]))
                ASSERT_EQ(found_sums[i], expected.log_sums[i]) << "log-sum " << i;
            else
                ASSERT_NEAR(found_sums[i], expected.log_sums[i], 1e-4) << "log-sum " << i;
        }
        launch(passes.of_keys, c.keys, of_log_sums);
        compare(type, "gradient of the keys", grad_key, expected.grad_key);
        compare(type, "gradient of the values", grad_value, expected.grad_value);
        launch(passes.of_queries, c.queries, of_log_sums);
        compare(type, "gradient of the queries", grad_query, expected.grad_query);
    }

    /// Prints the kernels that did not run, and what the device lacks.
    void report() {
        for (const kernels::Kernel& kernel : kernels::all()) {
            if (!kernel.family.starts_with("attention_units") || launched.contains(std::string(kernel.name)))
                continue;
            std::string lacks;
            kernels::for_each_feature(kernel.needs.without(parameters.usable), [&](kernels::Feature feature) {
                lacks += " " + std::string(name(feature));
            });
            EXPECT_FALSE(lacks.empty()) << kernel.name << " was not launched";
            std::printf("not run: %s (the device lacks%s)\n", std::string(kernel.name).c_str(),
                        lacks.c_str());
        }
        if (!parameters.usable.contains(kernels::Feature::matrix_columns))
            std::printf("not run: in_columns = 1 (the device lacks matrix_columns)\n");
    }
};

TEST_F(UnitAttentionKernels, MatchSumsInDouble) {
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
        for (const UnitAttention& passes : unit_attention_variants(parameters, type)) {
            const std::uint32_t rows =
                std::max({passes.forward.rows, passes.of_keys.rows, passes.of_queries.rows});
            const std::uint32_t step =
                std::max({passes.forward.step, passes.of_keys.step, passes.of_queries.step});
            const std::uint32_t width = passes.width;
            std::vector<AttentionCase> cases = {{.queries = rows + rows / 2 + 3,
                                                 .keys = rows + 3 * step + 5,
                                                 .width = width - 24,
                                                 .value_width = width - 40,
                                                 .padding = 8,
                                                 .batch = 2},
                                                {.queries = rows + 1, // one number at a time
                                                 .keys = 2 * rows + 7,
                                                 .width = width - 1,
                                                 .value_width = width - 13,
                                                 .causal = true,
                                                 .has_bias = true,
                                                 .padding = 3,
                                                 .batch = 2}};
            // CPU drivers take ten seconds to compile each kernel for each set of constants.
            if (device->info().type != DeviceType::cpu) {
                cases.push_back({rows, 2 * step, width, width}); // whole tiles
                cases.push_back({.queries = 5, .keys = 3, .width = 8, .value_width = width});
                cases.push_back({.queries = 2 * rows + 5,
                                 .keys = rows + step + 9,
                                 .width = width,
                                 .value_width = width - 8,
                                 .causal = true,
                                 .heads_within_rows = true});
                cases.push_back({.queries = rows - 6,
                                 .keys = step + 2,
                                 .width = width,
                                 .value_width = width,
                                 .causal = true,
                                 .has_bias = true});
                cases.push_back(
                    {.queries = 40, .keys = 70, .width = 32, .value_width = 16, .has_bias = true});
                cases.push_back({.queries = 70, .keys = 90, .width = 33, .value_width = 31, .padding = 1});
            }
            for (const AttentionCase& c : cases)
                check(type, passes, c);
        }
    report();
    if (launched.empty())
        GTEST_SKIP() << "the device has no matrix units for attention";
}

} // namespace
} // namespace rekindle::products
