/// multinomial. Without replacement, PyTorch itself draws with topk. With replacement, a uniform random
/// number selects a category from the cumulative probabilities.

#include "../../dispatch/structured.h"
#include "../lib/value_checks.h"

#include <ATen/native/UnaryOps.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/multinomial_native.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/where.h>

namespace rvk {

namespace {

using Generator = std::optional<at::Generator>;

/// probabilities: rows of categories, float32 or float64.
void check_probabilities(const at::Tensor& probabilities, const at::Tensor& sums) {
    const std::string problem = "invalid multinomial distribution ";
    assert_nonzero(probabilities.ge(0).all(), problem + "(encountering probability entry < 0)");
    assert_nonzero(probabilities.isfinite().all(),
                   problem + "(encountering probability entry = infinity or NaN)");
    assert_nonzero(sums.select(1, -1).gt(0).all(), problem + "(sum of probabilities <= 0)");
}

/// Maps each category with probability 0, which rounding may select, to the preceding category with a nonzero
/// probability, and every other category to itself.
at::Tensor possible_categories(const at::Tensor& probabilities) {
    const at::Tensor numbers = at::arange(probabilities.size(1), probabilities.options().dtype(at::kLong));
    const at::Tensor possible = at::where(probabilities.gt(0), numbers.unsqueeze(0), 0);
    return std::get<0>(possible.cummax(1));
}

void draw_with_replacement(at::Tensor& result, const at::Tensor& self, std::int64_t samples,
                           Generator generator) {
    TORCH_CHECK(self.size(-1) != 0, "invalid multinomial distribution (sum of probabilities <= 0)");
    const auto type = self.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor probabilities = (self.dim() == 1 ? self.unsqueeze(0) : self).to(type).contiguous();
    const at::Tensor sums = probabilities.cumsum(1);
    check_probabilities(probabilities, sums);
    at::Tensor drawn = at::empty({probabilities.size(0), samples}, probabilities.options());
    drawn.uniform_(0, 1, std::move(generator)).mul_(sums.narrow(1, -1, 1));
    const at::Tensor category =
        at::searchsorted(sums, drawn, /*out_int32=*/false, /*right=*/true).clamp_max_(sums.size(1) - 1);
    result.copy_(possible_categories(probabilities).gather(1, category).view(result.sizes()));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "multinomial", &at::native::multinomial);
    register_operator(m, "multinomial.out", &at::native::multinomial_out);
}

} // namespace

} // namespace rvk

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(multinomial_with_replacement_stub, &rvk::draw_with_replacement)
} // namespace at::native
