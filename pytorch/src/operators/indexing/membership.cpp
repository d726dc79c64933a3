/// isin: searches the sorted test elements.

#include "../../dispatch/structured.h"

#include <ATen/ops/isin_meta.h>
#include <ATen/ops/isin_native.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/searchsorted.h>

namespace rvk {

namespace {

struct IsIn : at::meta::structured_isin_Tensor_Tensor {
    void impl(const at::Tensor& elements, const at::Tensor& tests, bool, bool invert, const at::Tensor& out) {
        if (elements.numel() == 0)
            return;
        if (tests.numel() == 0) {
            const_cast<at::Tensor&>(out).fill_(invert);
            return;
        }
        const auto type = at::result_type(elements, tests);
        const at::Tensor values = elements.to(type).reshape({-1});
        const at::Tensor sorted = std::get<0>(tests.to(type).reshape({-1}).sort());
        const at::Tensor place = at::searchsorted(sorted, values).clamp_max_(sorted.numel() - 1);
        const at::Tensor found = sorted.index_select(0, place).eq(values);
        out.copy_((invert ? found.logical_not() : found).view(elements.sizes()));
    }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_structured<IsIn>(m, "isin.Tensor_Tensor", "isin.Tensor_Tensor_out");
    register_structured<at::native::structured_isin_Tensor_Scalar_out>(m, "isin.Tensor_Scalar",
                                                                       "isin.Tensor_Scalar_out");
    register_structured<at::native::structured_isin_Scalar_Tensor_out>(m, "isin.Scalar_Tensor",
                                                                       "isin.Scalar_Tensor_out");
}

} // namespace

} // namespace rvk
