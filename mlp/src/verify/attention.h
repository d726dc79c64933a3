#pragma once
/// Compares a device's attention, softmax(scale · Q · Kᵀ + bias) · V and its gradients, with sums in double.

#include "verify/numbers.h"

#include <rekindle/kernels/families/attention.h>
#include <rekindle/products/planner.h>
#include <rekindle/products/unit_attention.h>
#include <rekindle/runtime/device.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace rekindle::mlp::verify {

struct AttentionCase {
    ElementType type = ElementType::float32;
    bool on_units = false; ///< on the matrix units
    std::uint32_t batch = 1, heads = 1, queries = 1, keys = 1;
    std::uint32_t width = 1, value_width = 1;
    bool causal = false; ///< query i sees the keys up to i
    bool has_bias = false;
    std::uint32_t padding = 0; ///< unused numbers after each row of an operand
    /// If set, every pass that can use this tile does. The planner chooses the tiles of the other passes.
    std::optional<products::AttentionTile> tile{};

    float scale() const;
    double multiplications() const; ///< multiply-adds of one product of all queries with all keys
};

/// An operand on the host: [batch, rows, heads, width] in memory, so that all strides differ.
struct Operand {
    std::uint32_t heads = 0, rows = 0, width = 0, pitch = 0; ///< pitch: numbers from one head to the next
    std::vector<float> values;

    /// The strides of the batch, the head and the row, in elements.
    std::array<std::uint64_t, 3> strides() const;
    const float* row(std::uint32_t batch, std::uint32_t head, std::uint32_t row) const;
};

struct AttentionOperands {
    Operand query, key, value, grad_output;
    Operand bias; ///< empty if there is none

    /// Random numbers that the type represents exactly.
    explicit AttentionOperands(const AttentionCase& attention);
};

/// The kernels' results, contiguous: [batch, heads, rows, width].
struct AttentionResults {
    HostNumbers output, log_sums;
    HostNumbers grad_query, grad_key, grad_value, grad_bias;
};

/// Whether the kernels can run on the device.
bool has_attention(const runtime::Device& device);
/// The operands and results of one attention in a device's memory. On the matrix units, the gradient of a
/// bias is not computed.
class DeviceAttention {
  public:
    /// Throws runtime::Unsupported when the device lacks what the case needs.
    DeviceAttention(runtime::Device& device, runtime::Stream& stream, const AttentionCase& attention,
                    const AttentionOperands& operands);

    void forward();
    /// Needs the results of forward().
    void backward();
    AttentionResults results();

  private:
    /// One launch: the rows that workgroups own, the rows they loop over, and its cost in products of all
    /// queries with all keys.
    struct Pass {
        std::uint32_t rows, others;
        int products;
        std::vector<const DeviceNumbers*> reads, writes;
    };
    void multiply(products::AttentionPass kind, const products::UnitPass* units, const Pass& pass);
    void launch_in_tiles(const kernels::Kernel& kernel, const Pass& pass, std::uint32_t rows_of_thread,
                         runtime::Groups groups);
    void launch_on_units(const products::UnitPass& units, const Pass& pass);
    runtime::Transient block() const;
    std::vector<runtime::Access> accesses(const Pass& pass) const;
    std::uint32_t result_quads() const;
    bool is_in_groups(std::uint32_t numbers) const;

    runtime::Stream& stream_;
    const AttentionCase case_;
    const products::Planner planner_;
    std::optional<products::UnitAttention> units_;
    std::vector<std::uint64_t> strides_;
    DeviceNumbers query_, key_, value_, bias_, grad_output_;
    DeviceNumbers output_, log_sums_, output_dots_, grad_query_, grad_key_, grad_value_, grad_bias_;
};

/// The largest errors as fractions of the allowed ones; infinite when a number is NaN or was not written.
struct AttentionErrors {
    double values = 0;    ///< of the output and of log_sums
    double gradients = 0; ///< of all operands
};
AttentionErrors attention_errors(const AttentionCase& attention, const AttentionOperands& operands,
                                 const AttentionResults& results);

/// The kernels for heads of up to `width` columns; empty if the device has none.
std::optional<products::UnitAttention> unit_attention(const runtime::Device& device, ElementType type,
                                                      std::uint32_t width);

/// Cases with partial tiles, padded rows, causal masks, biases, wide and narrow heads. few: one case only,
/// for CPU drivers, where compiling takes most of the time.
std::vector<AttentionCase> attention_cases(ElementType type, bool on_units, bool few = false);

} // namespace rekindle::mlp::verify
