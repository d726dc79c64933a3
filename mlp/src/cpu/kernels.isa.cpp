// Compiled once per instruction set; REKINDLE_ISA names it.

#include "cpu/loss.h"
#include "cpu/masks.h"
#include "cpu/matrix.h"
#include "cpu/rows.h"
#include "cpu/update.h"

namespace rekindle::mlp::cpu::REKINDLE_ISA {
namespace {

void gather(const Network& n, const Rows& rows, float* workspace) {
    float* to = workspace + n.input_value;
    for (std::size_t r = 0; r < rows.count; ++r, to += n.input_stride) {
        const std::size_t row = rows.order ? rows.order[r] : r;
        const float* from = rows.inputs + row * rows.stride;
        std::size_t j = 0;
        for (; j + lanes <= n.inputs; j += lanes)
            store(to + j, load(from + j));
        if (j < n.inputs && n.inputs >= lanes) // overlaps values that are already there
            store(to + n.inputs - lanes, load(from + n.inputs - lanes));
        else
            for (; j < n.inputs; ++j)
                to[j] = from[j];
        if (rows.targets)
            workspace[n.head.targets + r] = rows.targets[row];
    }
    for (std::size_t r = 0; r < rows.upcoming_count; ++r) {
        const float* next = rows.inputs + rows.upcoming[r] * rows.stride;
        for (std::size_t j = 0; j < n.inputs; j += lanes)
            _mm_prefetch(reinterpret_cast<const char*>(next + j), _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char*>(next + n.inputs - 1), _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char*>(rows.targets + rows.upcoming[r]), _MM_HINT_T0);
    }
}

void round_values(float* values, std::size_t count) {
    round_bf16(values, values, 0, count);
}

void linear_forward(const Stage& s, const float* parameters, float* workspace, std::size_t rows,
                    bool training) {
    const Operands o{rows, s.output_stride,        s.inputs,       workspace + s.input_value, s.input_stride,
                     1,    parameters + s.weights, s.output_stride};
    float* out = workspace + s.output_value;
    const bool drops = training && s.dropout.active;
    if (s.function == Function::relu && !drops)
        return multiply(o, ForwardEpilogue<true>{out, s.output_stride, parameters + s.bias});
    multiply(o, ForwardEpilogue<false>{out, s.output_stride, parameters + s.bias});
    if (s.function != Function::identity || drops)
        transform_rows<false>({&s, parameters, out, workspace, rows}, training);
}

struct MaskKey {
    std::uint64_t seed, batch;
    std::uint32_t first_row;
};

void forward(const Network& n, const float* parameters, float* workspace, std::size_t rows,
             const MaskKey* masks) {
    const bool training = masks != nullptr;
    if (n.round_to_bf16)
        round_values(workspace + n.input_value, rows * n.input_stride);
    for (std::size_t i = 0; i < n.stage_count; ++i) {
        const Stage& s = n.stages[i];
        if (training && s.dropout.active)
            dropout_factors(s.dropout, masks->seed, masks->batch, masks->first_row, rows, s.output_stride,
                            workspace + s.factors);
        switch (s.core) {
        case Stage::Core::none:
            transform_rows<false>({&s, parameters, workspace + s.input_value, workspace, rows}, training);
            break;
        case Stage::Core::linear:
            linear_forward(s, parameters, workspace, rows, training);
            break;
        case Stage::Core::layer_norm:
            transform_rows<true>({&s, parameters, workspace + s.input_value, workspace, rows}, training);
            break;
        case Stage::Core::residual_begin:
            continue;
        case Stage::Core::residual_end:
            for (std::size_t j = 0; j < rows * s.output_stride; j += lanes)
                store(workspace + s.output_value + j,
                      load(workspace + s.input_value + j) + load(workspace + s.skip_value + j));
            break;
        }
        if (n.round_to_bf16)
            round_values(workspace + s.output_value, rows * s.output_stride);
    }
    head_forward(n.head, parameters, workspace, rows);
}

template <GradientEpilogue Mode>
void linear_input_gradient(const Stage& s, const TrainingBlock& b, const Operands& o) {
    const float* producer = producer_of<Mode>(s, b.workspace);
    multiply(o, InputGradientEpilogue<Mode>{b.workspace + s.input_gradient_at, s.input_stride, producer});
}

void linear_backward(const Stage& s, const TrainingBlock& b) {
    const std::size_t rows = b.rows.count;
    const float* gradient = b.workspace + s.output_gradient_at;
    if (s.input_gradient) {
        const Operands o{rows,
                         s.input_stride,
                         s.outputs,
                         gradient,
                         s.output_stride,
                         1,
                         b.transposed + s.transposed,
                         s.input_stride};
        switch (s.epilogue) {
        case GradientEpilogue::plain:
            linear_input_gradient<GradientEpilogue::plain>(s, b, o);
            break;
        case GradientEpilogue::relu:
            linear_input_gradient<GradientEpilogue::relu>(s, b, o);
            break;
        case GradientEpilogue::derivative:
            linear_input_gradient<GradientEpilogue::derivative>(s, b, o);
            break;
        }
    }
    const Operands o{s.inputs, s.output_stride, rows,     b.workspace + s.input_value,
                     1,        s.input_stride,  gradient, s.output_stride};
    if (b.accumulate) {
        multiply(o, WeightGradientEpilogue<true>{b.gradients + s.weights, s.output_stride});
        sum_columns<true>(gradient, rows, s.output_stride, b.gradients + s.bias);
    } else {
        multiply(o, WeightGradientEpilogue<false>{b.gradients + s.weights, s.output_stride});
        sum_columns<false>(gradient, rows, s.output_stride, b.gradients + s.bias);
    }
}

void norm_backward(const Stage& s, const TrainingBlock& b) {
    const std::size_t rows = b.rows.count;
    if (b.accumulate)
        norm_parameter_gradients<true>(s, b.workspace, b.gradients, rows);
    else
        norm_parameter_gradients<false>(s, b.workspace, b.gradients, rows);
    if (!s.input_gradient)
        return;
    switch (s.epilogue) {
    case GradientEpilogue::plain:
        return norm_input_gradient<GradientEpilogue::plain>(s, b.parameters, b.workspace, rows);
    case GradientEpilogue::relu:
        return norm_input_gradient<GradientEpilogue::relu>(s, b.parameters, b.workspace, rows);
    case GradientEpilogue::derivative:
        return norm_input_gradient<GradientEpilogue::derivative>(s, b.parameters, b.workspace, rows);
    }
}

void backward(const Network& n, const TrainingBlock& b) {
    const std::size_t rows = b.rows.count;
    for (std::size_t i = n.stage_count; i-- > 0;) {
        const Stage& s = n.stages[i];
        float* gradient = b.workspace + s.output_gradient_at;
        if (!s.gradient_is_prepared)
            apply_derivative(s, b.workspace, rows);
        switch (s.core) {
        case Stage::Core::linear:
            linear_backward(s, b);
            break;
        case Stage::Core::layer_norm:
            norm_backward(s, b);
            break;
        case Stage::Core::none:
        case Stage::Core::residual_end:
            if (s.input_gradient)
                for (std::size_t j = 0; j < rows * s.output_stride; j += lanes)
                    store(b.workspace + s.input_gradient_at + j, load(gradient + j));
            break;
        case Stage::Core::residual_begin:
            if (s.input_gradient)
                for (std::size_t j = 0; j < rows * s.output_stride; j += lanes)
                    store(gradient + j, load(gradient + j) + load(b.workspace + s.skip_gradient_at + j));
            break;
        }
    }
}

double train_block(const Network& n, const TrainingBlock& b) {
    const std::size_t rows = b.rows.count;
    gather(n, b.rows, b.workspace);
    const MaskKey masks{b.seed, b.batch, b.first_row};
    forward(n, b.parameters, b.workspace, rows, &masks);
    const double loss = losses(n, b.workspace, rows, b.gradient_scale);
    head_backward(n.head, b.parameters, b.workspace, b.gradients, b.accumulate, rows);
    backward(n, b);
    return loss;
}

void predict_block(const Network& n, const Rows& rows, const float* parameters, float* workspace,
                   float* outputs) {
    gather(n, rows, workspace);
    forward(n, parameters, workspace, rows.count, nullptr);
    for (std::size_t r = 0; r < rows.count; ++r)
        for (std::size_t o = 0; o < n.head.outputs; ++o)
            *outputs++ = workspace[n.head.values + o * block_rows + r];
}

double evaluate_block(const Network& n, const Rows& rows, const float* parameters, float* workspace) {
    gather(n, rows, workspace);
    forward(n, parameters, workspace, rows.count, nullptr);
    return losses(n, workspace, rows.count, 1.0f);
}

void transpose(const Stage& s, const float* parameters, float* transposed, std::size_t first,
               std::size_t last) {
    for (std::size_t row = first; row < last; row += lanes)
        for (std::size_t column = 0; column < s.output_stride; column += lanes)
            transpose_block(parameters + s.weights + row * s.output_stride + column, s.output_stride,
                            s.inputs - row, transposed + s.transposed + column * s.input_stride + row,
                            s.input_stride);
}

template <Float16 (*F)(Float16)>
void apply(const float* x, float* y, std::size_t count) {
    for (std::size_t i = 0; i < count; i += lanes)
        store(y + i, F(load(x + i)));
}

float multiply_add_chains(std::size_t iterations) {
    // One register per chain: more chains would spill where there are only 16 registers.
    constexpr std::size_t chains = 14;
    Native sums[chains];
    REKINDLE_UNROLL
    for (std::size_t c = 0; c < chains; ++c)
        sums[c] = native_broadcast(1e-3f * static_cast<float>(c));
    const Native factor = native_broadcast(0.999f), addend = native_broadcast(1e-4f);
    for (std::size_t i = 0; i < iterations * parts; ++i)
        REKINDLE_UNROLL
    for (std::size_t c = 0; c < chains; ++c)
        sums[c] = native_fma(sums[c], factor, addend);
    Native total = sums[0];
    REKINDLE_UNROLL
    for (std::size_t c = 1; c < chains; ++c)
        total = total + sums[c];
    return total[0];
}

} // namespace

extern const KernelTable table = {
    train_block, predict_block, evaluate_block, reduce,          adamw,
    sgd,         average,       round_bf16,     transpose,       apply<exp>,
    apply<tanh>, apply<erf>,    apply<log1p>,   dropout_factors, multiply_add_chains,
};

} // namespace rekindle::mlp::cpu::REKINDLE_ISA
