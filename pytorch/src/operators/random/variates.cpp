/// Random numbers whose distribution parameters are tensors (kernels/random/variates.slang).

#include "../../device/generator.h"
#include "../../dispatch/launch.h"
#include "../../dispatch/structured.h"
#include "../lib/value_checks.h"

#include <rekindle/kernels/families/variates.h>
#include <rekindle/kernels/families/variates_float64.h>

#include <ATen/ExpandUtils.h>
#include <ATen/ops/empty.h>
#include <limits>

namespace rvk {

namespace {

using Generator = std::optional<at::Generator>;
using Parameters = kernels::VariatesParameters;

enum class Variate : std::uint32_t { poisson, binomial, gamma };

/// The most random words that a thread draws: 500 proposals of up to four numbers of two words each.
constexpr std::uint64_t words_per_thread = 4096;

/// second: has the dtype and sizes of `first`, or is undefined.
at::Tensor drawn(Variate variate, const at::Tensor& first, const at::Tensor& second,
                 const Generator& generator) {
    const auto type = first.scalar_type();
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(type) &&
                                    (!second.defined() || second.scalar_type() == type),
                                "random numbers of ", type);
    require_float64(type, first.device());
    TORCH_CHECK_NOT_IMPLEMENTED(first.numel() <= std::numeric_limits<std::int32_t>::max(),
                                "2^31 random numbers");
    at::Tensor output = at::empty(first.sizes(), first.options());
    if (output.numel() == 0)
        return output;
    const at::Tensor one = first.contiguous(), other = second.defined() ? second.contiguous() : one;
    const auto state = reserve_random(generator, first.device().index(), words_per_thread);
    Parameters p{};
    p.output = address(output);
    p.first = address(one);
    p.second = address(other);
    p.seed = state.seed;
    p.offset = state.offset;
    p.count = static_cast<std::uint32_t>(output.numel());
    launch(first.device().index(),
           type == at::kDouble ? kernels::variates_float64.kernel : kernels::variates.kernel,
           linear_groups(output.numel(), 256), std::as_bytes(std::span(&p, 1)),
           std::array{writes(output), reads(one), reads(other)},
           kernels::VariatesConstants{.variate = static_cast<std::uint32_t>(variate),
                                      .dtype = dtype_code(type)});
    return output;
}

at::Tensor poisson(const at::Tensor& self, Generator generator) {
    if (self.numel() != 0 && at::isFloatingType(self.scalar_type()))
        assert_nonzero(self.ge(0).all(), "invalid Poisson rate, expected rate to be non-negative");
    return drawn(Variate::poisson, self, {}, generator);
}

/// Only float32 and float64, as on the CPU.
void require_wide(const at::Tensor& self, const char* what) {
    TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() == at::kFloat || self.scalar_type() == at::kDouble, what,
                                " of ", self.scalar_type());
}

at::Tensor binomial(const at::Tensor& count, const at::Tensor& probability, Generator generator) {
    require_wide(count, "binomial numbers");
    const auto sizes = at::infer_size(count.sizes(), probability.sizes());
    return drawn(Variate::binomial, count.expand(sizes), probability.expand(sizes), generator);
}

at::Tensor standard_gamma(const at::Tensor& self, Generator generator) {
    require_wide(self, "gamma numbers");
    return drawn(Variate::gamma, self, {}, generator);
}

/// Gamma-distributed numbers divided by their sum.
at::Tensor dirichlet(const at::Tensor& self, Generator generator) {
    const at::Tensor numbers = standard_gamma(self, std::move(generator));
    return numbers.div(numbers.sum(-1, /*keepdim=*/true));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "poisson", &poisson);
    register_operator(m, "binomial", &binomial);
    register_operator(m, "_standard_gamma", &standard_gamma);
    register_operator(m, "_sample_dirichlet", &dirichlet);
}

} // namespace

} // namespace rvk
