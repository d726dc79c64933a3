#include "verify/attention.h"

#include "verify/checks.h"

#include <rekindle/base/text.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace rekindle::mlp::verify {

namespace {

Operand operand(const AttentionCase& attention, std::uint32_t rows, std::uint32_t width, float factor,
                std::uint32_t seed) {
    const std::uint32_t pitch = width + attention.padding;
    Operand made{attention.heads, rows, width, pitch, {}};
    made.values =
        random_numbers(std::size_t{attention.batch} * rows * attention.heads * pitch, attention.type, seed);
    for (float& value : made.values)
        value *= factor;
    return made;
}

VerifyRow attention_row(const std::string& name, std::size_t count, const char* what, double worst,
                        const std::string& where) {
    VerifyRow row = compared("attention", name + ", " + counted(count, "case") + ": " + what, 1, worst,
                             where.empty() ? "" : "largest error at " + where);
    row.unit = "of the error bound";
    return row;
}

std::string text(const AttentionCase& attention) {
    const auto x = [](std::uint32_t number) { return " x " + std::to_string(number); };
    return std::to_string(attention.batch) + x(attention.heads) + x(attention.queries) + x(attention.keys) +
           x(attention.width) + x(attention.value_width) + (attention.causal ? ", causal" : "") +
           (attention.has_bias ? ", with a bias" : "");
}

void check_cases(runtime::Device& device, const std::string& name, const std::vector<AttentionCase>& cases,
                 const AddRow& add) {
    double values = 0, gradients = 0;
    std::string where_values, where_gradients;
    for (const AttentionCase& attention : cases) {
        const AttentionOperands operands(attention);
        const auto stream = device.make_stream();
        DeviceAttention on_device(device, *stream, attention, operands);
        on_device.forward();
        on_device.backward();
        const AttentionErrors errors = attention_errors(attention, operands, on_device.results());
        if (errors.values > values)
            where_values = text(attention);
        if (errors.gradients > gradients)
            where_gradients = text(attention);
        values = std::max(values, errors.values);
        gradients = std::max(gradients, errors.gradients);
    }
    add(attention_row(name, cases.size(), "values", values, where_values));
    add(attention_row(name, cases.size(), "gradients", gradients, where_gradients));
}

} // namespace

float AttentionCase::scale() const {
    return 1 / std::sqrt(static_cast<float>(width));
}

double AttentionCase::multiplications() const {
    return static_cast<double>(queries) * keys * batch * heads * (width + value_width) / 2;
}

std::array<std::uint64_t, 3> Operand::strides() const {
    const std::uint64_t row = std::uint64_t{heads} * pitch;
    return {rows * row, pitch, row};
}

const float* Operand::row(std::uint32_t batch, std::uint32_t head, std::uint32_t row) const {
    const auto stride = strides();
    return values.data() + batch * stride[0] + head * stride[1] + row * stride[2];
}

/// Scales queries up so that some weights dominate.
AttentionOperands::AttentionOperands(const AttentionCase& attention)
    : query(operand(attention, attention.queries, attention.width, 4, 1)),
      key(operand(attention, attention.keys, attention.width, 1, 2)),
      value(operand(attention, attention.keys, attention.value_width, 1, 3)),
      grad_output(operand(attention, attention.queries, attention.value_width, 1, 4)),
      bias(attention.has_bias ? operand(attention, attention.queries, attention.keys, 2, 5) : Operand{}) {}

std::vector<AttentionCase> attention_cases(ElementType type, bool on_units, bool few) {
    std::vector<AttentionCase> cases{{type, on_units, 2, 3, 8, 7, 20, 12, false, false, 4}};
    if (few)
        return cases;
    cases.push_back({type, on_units, 1, 2, 7, 70, 19, 13, false, true, 3}); // loaded one element at a time
    cases.push_back({type, on_units, 2, 3, 37, 70, 40, 24, false, false, 8});
    cases.push_back({type, on_units, 1, 2, 150, 150, 64, 64, true, false, 0});
    cases.push_back({type, on_units, 1, 2, 150, 131, 64, 56, false, true, 0});
    cases.push_back({type, on_units, 1, 1, 1, 1, 1, 1, false, false, 0});
    if (!on_units) // some shapes of matrix units have no kernels for heads this wide
        cases.push_back({type, on_units, 1, 2, 40, 100, 128, 104, true, false, 0});
    return cases;
}

void check_attention(const std::shared_ptr<runtime::Device>& device, const AddRow& add) {
    constexpr std::uint32_t widest = 64; // columns of the widest case on matrix units
    if (!has_attention(*device)) {
        add(stated("attention", "float32, float16 and bfloat16", VerifyRow::Outcome::not_run,
                   "the device has no 16-bit or no 8-bit memory access"));
        return;
    }
    const bool is_cpu = device->info().type == runtime::DeviceType::cpu;
    const auto check = [&](const std::string& row, ElementType type, bool on_units) {
        if (on_units && !unit_attention(*device, type, widest))
            add(stated("attention", row, VerifyRow::Outcome::not_run,
                       "the device has no matrix units for attention of " + std::string(name(type))));
        else if (is_cpu && type != ElementType::float32)
            add(stated("attention", row, VerifyRow::Outcome::not_run,
                       "only on GPUs: a CPU driver takes seconds to compile each kernel"));
        else
            check_cases(*device, row, attention_cases(type, on_units, is_cpu), add);
    };
    for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::bfloat16})
        check(std::string(name(type)), type, false);
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
        check(std::string(name(type)) + " on the matrix units", type, true);
}

} // namespace rekindle::mlp::verify
