/// Random tensors and dropout.

#include "../../device/dtypes.h"
#include "../../device/generator.h"
#include "../../dispatch/structured.h"
#include "../elementwise/elementwise.h"
#include "../lib/layout.h"
#include "../lib/value_checks.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/random.h>
#include <rekindle/kernels/families/random_float64.h>

#include <ATen/native/UnaryOps.h>
#include <ATen/ops/bernoulli_native.h>
#include <ATen/ops/cauchy_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/exponential_native.h>
#include <ATen/ops/geometric_native.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/log_normal_native.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/normal_native.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/random_native.h>
#include <ATen/ops/uniform_native.h>
#include <ATen/ops/where.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <torch/library.h>

namespace rvk {

namespace {

using Generator = std::optional<at::Generator>;

enum class Draw : std::uint32_t {
#define REKINDLE_DRAW(name) name,
#include <rekindle/kernels/random.def>
#undef REKINDLE_DRAW
};

/// Distributes the elements among threads as PyTorch's CUDA kernels do on a GPU with 108 compute units.
struct Grid {
    std::uint32_t groups, turns;
    std::uint32_t threads() const { return groups * 256; }
};
Grid grid_for(std::int64_t count, std::int64_t numbers_per_turn) {
    constexpr std::int64_t threads = 256, most_groups = std::int64_t{108} * 2048 / threads;
    const std::int64_t groups = std::min(kernels::ceil_div(count, threads), most_groups);
    const std::int64_t of_turn = groups * threads * numbers_per_turn;
    return {static_cast<std::uint32_t>(groups),
            static_cast<std::uint32_t>(kernels::ceil_div(count, of_turn))};
}

bool known_real(at::ScalarType type) {
    return is_known_to_kernels(type) && at::isFloatingType(type);
}

std::uint64_t real_bits(double value, bool float64) {
    return float64 ? std::bit_cast<std::uint64_t>(value)
                   : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

/// The most non-contiguous elements per launch: a thread's loops, including those that locate each element,
/// must stay within most_iterations.
constexpr std::int64_t most_scattered = std::int64_t{1} << 30;

bool is_scattered(const at::TensorIteratorBase& iterator, const OperandLayout& layout) {
    return layout.kind() == OperandLayout::Kind::in_memory && iterator.numel() > most_scattered;
}

/// Calls draw(iterator) for contiguous memory and copies the result from there.
template <class F>
void draw_densely(const at::TensorIteratorBase& iterator, F&& draw) {
    const at::Tensor& output = iterator.tensor(0);
    const at::Tensor drawn = at::empty(output.sizes(), output.options());
    at::TensorIteratorConfig config;
    config.add_owned_output(drawn).resize_outputs(false).check_all_same_dtype(false);
    if (iterator.ntensors() > 1)
        config.add_owned_const_input(iterator.tensor(1).expand(output.sizes()).contiguous());
    auto dense = config.build();
    draw(dense);
    output.copy_(drawn);
}

/// The output is operand 0 of the iterator; operand 1, if there is one, is the input.
template <class P>
void launch_draw(const kernels::TypedKernel<P>& kernel, const at::TensorIteratorBase& iterator, Draw draw,
                 double a, double b, bool float64, const Generator& generator) {
    const std::array<int, 2> both{0, 1};
    const std::span operands = std::span(both).first(static_cast<std::size_t>(iterator.ntensors()));
    const OperandLayout layout(iterator, operands);
    if (is_scattered(iterator, layout)) {
        draw_densely(iterator,
                     [&](const auto& dense) { launch_draw(kernel, dense, draw, a, b, float64, generator); });
        return;
    }
    const Grid grid = grid_for(iterator.numel(), float64 ? 2 : 4);
    const auto state = reserve_random(generator, iterator.device(0).index(), 4 * std::uint64_t{grid.turns});
    P p;
    p.output = address(iterator, 0);
    const bool has_input = iterator.ntensors() > 1;
    if (has_input)
        p.input = address(iterator, 1);
    p.count = static_cast<std::uint64_t>(iterator.numel());
    p.seed = state.seed;
    p.offset = state.offset;
    p.scalar_0 = real_bits(a, float64);
    p.scalar_1 = real_bits(b, float64);
    const UploadedBlock layout_block = layout.fill(p, iterator.device(0).index());
    std::array<Access, 2> accesses{writes(iterator, 0), has_input ? reads(iterator, 1) : Access{}};
    launch(iterator.device(0), kernel, Groups{grid.groups, 1, 1}, p,
           std::span<const Access>(accesses.data(), has_input ? 2 : 1),
           {.draw = static_cast<std::uint32_t>(draw),
            .layout = static_cast<std::uint32_t>(layout.kind()),
            .output_dtype = dtype_code(iterator.dtype(0)),
            .input_dtype = dtype_code(has_input ? iterator.dtype(1) : at::kFloat),
            .turns = grid.turns,
            .threads = grid.threads()});
}

void draw_into(const at::TensorIteratorBase& iterator, Draw draw, double a, double b,
               const Generator& generator) {
    bool float64 = false;
    for (int i = 0; i < iterator.ntensors(); ++i)
        float64 = float64 || iterator.dtype(i) == at::kDouble;
    if (iterator.numel() == 0)
        return;
    if (float64) {
        require_float64(at::kDouble, iterator.device(0));
        launch_draw(kernels::random_numbers_float64, iterator, draw, a, b, true, generator);
    } else {
        launch_draw(kernels::random_numbers, iterator, draw, a, b, false, generator);
    }
}
void draw_real(const at::TensorIteratorBase& iterator, Draw draw, double a, double b,
               const Generator& generator) {
    TORCH_CHECK_NOT_IMPLEMENTED(known_real(iterator.dtype(0)), "random numbers of ", iterator.dtype(0));
    draw_into(iterator, draw, a, b, generator);
}

void uniform(at::TensorIteratorBase& iterator, double from, double to, Generator generator) {
    draw_real(iterator, Draw::uniform, from, to, generator);
}
void normal(const at::TensorBase& self, double mean, double std, Generator generator) {
    const auto iterator = at::TensorIterator::borrowing_nullary_op(self);
    draw_real(iterator, Draw::normal, mean, std, generator);
}
void log_normal(at::TensorIteratorBase& iterator, double mean, double std, Generator generator) {
    draw_real(iterator, Draw::log_normal, mean, std, generator);
}
void exponential(at::TensorIteratorBase& iterator, double rate, Generator generator) {
    draw_real(iterator, Draw::exponential, rate, 0, generator);
}
void cauchy(at::TensorIteratorBase& iterator, double median, double scale, Generator generator) {
    draw_real(iterator, Draw::cauchy, median, scale, generator);
}
void geometric(at::TensorIteratorBase& iterator, double probability, Generator generator) {
    TORCH_CHECK_NOT_IMPLEMENTED(iterator.dtype(0) != at::kBool, "geometric numbers of bool");
    draw_into(iterator, Draw::geometric, probability, 0, generator);
}
void bernoulli_scalar(const at::TensorBase& self, double probability, Generator generator) {
    const auto iterator = at::TensorIterator::borrowing_nullary_op(self);
    draw_into(iterator, Draw::bernoulli, probability, 0, generator);
}
void bernoulli_tensor(const at::TensorBase& self, const at::TensorBase& probability, Generator generator) {
    const auto iterator = at::TensorIteratorConfig()
                              .add_borrowed_output(self)
                              .add_borrowed_const_input(probability)
                              .resize_outputs(false)
                              .check_all_same_dtype(false)
                              .build();
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(probability.scalar_type()), "probabilities of ",
                                probability.scalar_type());
    report_unless_probability(at::OptionalTensorRef(probability).getTensorRef(), Report::bernoulli);
    draw_into(iterator, Draw::bernoulli_each, 0, 0, generator);
}

/// A dtype of the same size that kernels support: integers have the same bits in both.
at::ScalarType signed_of(at::ScalarType type) {
    switch (type) {
    case at::kUInt16:
        return at::kShort;
    case at::kUInt32:
        return at::kInt;
    case at::kUInt64:
        return at::kLong;
    default:
        return type;
    }
}

/// Draws base + a number below `range`, or 64 random bits if `range` is 0.
void draw_integers(at::TensorIteratorBase& iterator, std::uint64_t range, std::int64_t base,
                   const Generator& generator) {
    if (iterator.numel() == 0)
        return;
    TORCH_CHECK_NOT_IMPLEMENTED(
        iterator.dtype(0) != at::kDouble &&
            (at::isIntegralType(iterator.dtype(0), true) || known_real(iterator.dtype(0))),
        "random integers of ", iterator.dtype(0));
    const bool long_numbers = range == 0 || range >= (1ull << 28);
    const std::array<int, 1> operands{0};
    const OperandLayout layout(iterator, operands);
    if (is_scattered(iterator, layout)) {
        draw_densely(iterator, [&](auto& dense) { draw_integers(dense, range, base, generator); });
        return;
    }
    const Grid grid = grid_for(iterator.numel(), long_numbers ? 2 : 4);
    const auto state = reserve_random(generator, iterator.device(0).index(), 4 * std::uint64_t{grid.turns});
    kernels::RandomParameters p;
    p.output = address(iterator, 0);
    p.count = static_cast<std::uint64_t>(iterator.numel());
    p.seed = state.seed;
    p.offset = state.offset;
    p.scalar_0 = static_cast<std::uint64_t>(base);
    p.scalar_1 = range;
    p.input = range == 0 ? 0 : std::numeric_limits<std::uint64_t>::max() / range;
    const UploadedBlock layout_block = layout.fill(p, iterator.device(0).index());
    launch(iterator.device(0), kernels::random_integers, Groups{grid.groups, 1, 1}, p, {writes(iterator, 0)},
           {.layout = static_cast<std::uint32_t>(layout.kind()),
            .output_dtype = dtype_code(signed_of(iterator.dtype(0))),
            .turns = grid.turns,
            .threads = grid.threads(),
            .long_numbers = long_numbers ? 1u : 0u});
}

/// float64 can represent integers that a float32 kernel cannot store, so integers for float64 tensors are
/// drawn as int64 and converted.
void random_from_to(at::TensorIteratorBase& iterator, std::uint64_t range, std::int64_t base,
                    Generator generator) {
    if (iterator.dtype(0) != at::kDouble) {
        draw_integers(iterator, range, base, generator);
        return;
    }
    const at::Tensor drawn =
        at::empty(iterator.tensor(0).sizes(), iterator.tensor(0).options().dtype(at::kLong));
    auto of_long = at::TensorIterator::borrowing_nullary_op(drawn);
    draw_integers(of_long, range, base, generator);
    iterator.tensor(0).copy_(drawn);
}
void random_64_bits(at::TensorIteratorBase& iterator, Generator generator) {
    random_from_to(iterator, 0, 0, generator);
}
/// Draws from the integers 0, 1, 2 … up to the largest one below which the dtype has no gaps.
void random_of_dtype(at::TensorIteratorBase& iterator, Generator generator) {
    const auto type = iterator.dtype(0);
    if (type == at::kUInt64) {
        random_64_bits(iterator, std::move(generator));
        return;
    }
    const std::uint64_t range = type == at::kBool       ? 2
                                : type == at::kByte     ? 1ull << 8
                                : type == at::kUInt16   ? 1ull << 16
                                : type == at::kUInt32   ? 1ull << 32
                                : type == at::kChar     ? 1ull << 7
                                : type == at::kShort    ? 1ull << 15
                                : type == at::kInt      ? 1ull << 31
                                : type == at::kLong     ? 1ull << 63
                                : type == at::kHalf     ? (1ull << 11) + 1
                                : type == at::kBFloat16 ? (1ull << 8) + 1
                                : type == at::kFloat    ? (1ull << 24) + 1
                                                        : (1ull << 53) + 1;
    random_from_to(iterator, range, 0, generator);
}

std::tuple<at::Tensor, at::Tensor> dropout(const at::Tensor& input, double probability,
                                           std::optional<bool> train) {
    TORCH_CHECK(probability >= 0 && probability <= 1,
                "dropout probability has to be between 0 and 1, but got ", probability);
    if (!train.value_or(true)) // PyTorch returns a copy of the input and a mask of ones
        return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
    TORCH_CHECK(!input.is_complex(), "\"dropout\" not implemented for '", input.scalar_type(), "'");
    TORCH_CHECK_NOT_IMPLEMENTED(known_real(input.scalar_type()), "dropout of ", input.scalar_type());
    require_float64(input.scalar_type(), input.device());
    // The output keeps the order of the input's dimensions in memory.
    const at::Tensor output = at::empty_like(input),
                     mask = at::empty_like(input, input.options().dtype(at::kBool));
    const at::Tensor dense =
        input.is_non_overlapping_and_dense() ? input : at::empty_like(input).copy_(input);
    if (dense.numel() == 0)
        return {output, mask};
    const bool float64 = input.scalar_type() == at::kDouble;
    const double keep = 1 - probability;
    const Grid grid = grid_for(dense.numel(), float64 ? 2 : 4);
    const auto state = reserve_random({}, input.device().index(), 4 * std::uint64_t{grid.turns});
    const auto run = [&]<class P>(const kernels::TypedKernel<P>& kernel) {
        P p;
        p.output = address(output);
        p.input = address(dense);
        p.mask = address(mask);
        p.count = static_cast<std::uint64_t>(dense.numel());
        p.seed = state.seed;
        p.offset = state.offset;
        p.scalar_0 = real_bits(keep, float64);
        p.scalar_1 = real_bits(keep == 0 ? 0 : 1 / keep, float64);
        const std::uint32_t type = dtype_code(input.scalar_type());
        launch(input.device(), kernel, Groups{grid.groups, 1, 1}, p,
               {writes(output), reads(dense), writes(mask)},
               {.draw = static_cast<std::uint32_t>(Draw::dropout),
                .output_dtype = type,
                .input_dtype = type,
                .turns = grid.turns,
                .threads = grid.threads()});
    };
    if (float64)
        run(kernels::random_numbers_float64);
    else
        run(kernels::random_numbers);
    return {output, mask};
}

at::Tensor dropout_backward(const at::Tensor& gradient, const at::Tensor& mask, double scale) {
    at::Tensor result = at::empty_like(gradient);
    auto iterator = at::TensorIteratorConfig()
                        .add_output(result)
                        .add_const_input(gradient)
                        .add_const_input(mask)
                        .check_all_same_dtype(false)
                        .build();
    compute_as(gradient.scalar_type(), iterator, Operation::multiply_scaled,
               {std::nullopt, std::nullopt, c10::Scalar(scale)});
    return result;
}

/// noise: the slope of each element, 1 for elements that stay unchanged.
at::Tensor& rrelu_out(const at::Tensor& self, at::Tensor& noise, const at::Scalar& lower,
                      const at::Scalar& upper, bool training, Generator generator, at::Tensor& out) {
    const double low = lower.toDouble(), high = upper.toDouble();
    TORCH_CHECK(std::isfinite(low), "rrelu: lower bound must be finite, got ", low);
    TORCH_CHECK(std::isfinite(high), "rrelu: upper bound must be finite, got ", high);
    TORCH_CHECK(low <= high, "Lower bound should be less than or equal to the upper bound");
    if (!training)
        return at::leaky_relu_out(out, self, (low + high) / 2);
    TORCH_CHECK(self.sizes() == noise.sizes(),
                "noise tensor shape must match self tensor shape. Got self.shape = ", self.sizes(),
                " noise.shape = ", noise.sizes());
    const at::Tensor slopes = at::empty_like(self).uniform_(low, high, std::move(generator));
    noise.copy_(at::where(self.le(0), slopes, 1.0));
    return at::mul_out(out, self, noise);
}
at::Tensor rrelu(const at::Tensor& self, at::Tensor& noise, const at::Scalar& lower, const at::Scalar& upper,
                 bool training, Generator generator) {
    at::Tensor out = at::empty_like(self);
    return rrelu_out(self, noise, lower, upper, training, std::move(generator), out);
}
at::Tensor& rrelu_(at::Tensor& self, at::Tensor& noise, const at::Scalar& lower, const at::Scalar& upper,
                   bool training, Generator generator) {
    return rrelu_out(self, noise, lower, upper, training, std::move(generator), self);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    using Self = at::Tensor&;
    register_operator(m, "uniform_", &at::native::uniform_);
    register_operator(m, "normal_", &at::native::normal_);
    register_operator(m, "log_normal_", &at::native::log_normal_);
    register_operator(m, "exponential_", &at::native::exponential_);
    register_operator(m, "cauchy_", &at::native::cauchy_);
    register_operator(m, "geometric_", &at::native::geometric_);
    register_operator(m, "bernoulli.out", &at::native::bernoulli_out);
    register_operator(m, "bernoulli_.float",
                      static_cast<Self (*)(Self, double, Generator)>(&at::native::bernoulli_));
    register_operator(m, "bernoulli_.Tensor",
                      static_cast<Self (*)(Self, const at::Tensor&, Generator)>(&at::native::bernoulli_));
    register_operator(m, "random_", static_cast<Self (*)(Self, Generator)>(&at::native::random_));
    register_operator(m, "random_.to",
                      static_cast<Self (*)(Self, std::int64_t, Generator)>(&at::native::random_));
    register_operator(m, "random_.from",
                      static_cast<Self (*)(Self, std::int64_t, std::optional<std::int64_t>, Generator)>(
                          &at::native::random_));
    register_operator(m, "native_dropout", &dropout);
    register_operator(m, "native_dropout_backward", &dropout_backward);
    register_operator(m, "rrelu_with_noise", &rrelu);
    register_operator(m, "rrelu_with_noise.out", &rrelu_out);
    register_operator(m, "rrelu_with_noise_", &rrelu_);
}

} // namespace

} // namespace rvk

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(uniform_stub, &rvk::uniform)
REGISTER_PRIVATEUSE1_DISPATCH(normal_stub, &rvk::normal)
REGISTER_PRIVATEUSE1_DISPATCH(log_normal_stub, &rvk::log_normal)
REGISTER_PRIVATEUSE1_DISPATCH(exponential_stub, &rvk::exponential)
REGISTER_PRIVATEUSE1_DISPATCH(cauchy_stub, &rvk::cauchy)
REGISTER_PRIVATEUSE1_DISPATCH(geometric_stub, &rvk::geometric)
REGISTER_PRIVATEUSE1_DISPATCH(bernoulli_scalar_stub, &rvk::bernoulli_scalar)
REGISTER_PRIVATEUSE1_DISPATCH(bernoulli_tensor_stub, &rvk::bernoulli_tensor)
REGISTER_PRIVATEUSE1_DISPATCH(random_stub, &rvk::random_of_dtype)
REGISTER_PRIVATEUSE1_DISPATCH(random_from_to_stub, &rvk::random_from_to)
REGISTER_PRIVATEUSE1_DISPATCH(random_full_64_bits_range_stub, &rvk::random_64_bits)
} // namespace at::native
