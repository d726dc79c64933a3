/// Products of a sparse matrix (COO, CSR or CSC) and a dense matrix. For each stored element, a row of the
/// dense matrix is multiplied by the element's value and added to a row of the result. index_add does the
/// additions, so the result is deterministic.

#include "../../dispatch/fallback.h"

#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/_sparse_csr_tensor_unsafe.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <array>
#include <string_view>

namespace rvk {

namespace {

using c10::DispatchKey;

/// Limits the size of the temporary tensor of scaled rows, in elements: 1 GiB in float32.
constexpr std::int64_t max_temporary_elements = 1 << 28;

/// beta * self + alpha * left * right; without `self`, left * right.
struct Terms {
    at::Tensor self, left, right;
    at::Scalar beta = 0, alpha = 1;

    bool left_is_sparse() const { return left.layout() != at::kStrided; }
    const at::Tensor& sparse() const { return left_is_sparse() ? left : right; }
    const at::Tensor& dense() const { return left_is_sparse() ? right : left; }
};

/// The row index, column index, and value of each stored element.
struct Elements {
    at::Tensor rows, columns, values;
};

/// Expands compressed pointers (CSR's crow_indices, CSC's ccol_indices) to one index per stored element.
/// `count` is the number of stored elements.
at::Tensor expanded(const at::Tensor& pointers, std::int64_t count) {
    const at::Tensor numbers = at::arange(count, pointers.options());
    return at::searchsorted(pointers.narrow(0, 1, pointers.size(0) - 1), numbers, /*out_int32=*/false,
                            /*right=*/true);
}

Elements elements_of(const at::Tensor& sparse) {
    if (sparse.layout() == at::kSparse)
        return {sparse._indices().select(0, 0), sparse._indices().select(0, 1), sparse._values()};
    const at::Tensor values = sparse.values();
    if (sparse.layout() == at::kSparseCsr)
        return {expanded(sparse.crow_indices(), values.size(0)), sparse.col_indices().to(at::kLong), values};
    return {sparse.row_indices().to(at::kLong), expanded(sparse.ccol_indices(), values.size(0)), values};
}

/// Whether this is a matrix in one of the supported layouts whose stored elements are scalars.
bool has_elements(const at::Tensor& matrix) {
    if (matrix.layout() == at::kSparse)
        return matrix.sparse_dim() == 2 && matrix.dense_dim() == 0;
    return (matrix.layout() == at::kSparseCsr || matrix.layout() == at::kSparseCsc) && matrix.dim() == 2 &&
           matrix.dense_dim() == 0;
}

/// Whether `self` can be broadcast to the shape of the product.
bool is_expandable(const at::Tensor& self, const Terms& terms) {
    const std::array<std::int64_t, 2> sizes{terms.left.size(0), terms.right.size(1)};
    return at::is_expandable_to(self.sizes(), sizes);
}

/// Whether multiply() supports these operands. All others go to the CPU, which computes the product or
/// reports the error.
bool accepted(const Terms& terms) {
    const at::Tensor &sparse = terms.sparse(), &dense = terms.dense();
    const bool as_expected = has_elements(sparse) && dense.layout() == at::kStrided && dense.dim() == 2 &&
                             dense.device() == sparse.device() && at::isFloatingType(dense.scalar_type()) &&
                             dense.scalar_type() == sparse.scalar_type() &&
                             terms.left.size(1) == terms.right.size(0);
    const at::Tensor& self = terms.self;
    if (!as_expected || !self.defined())
        return as_expected;
    return self.layout() == at::kStrided && self.device() == sparse.device() &&
           self.scalar_type() == sparse.scalar_type() && is_expandable(self, terms);
}

/// Adds alpha * sparse * dense to `result`, in blocks of columns to limit temporary memory.
void add_multiples(const at::Tensor& result, const Elements& elements, const at::Tensor& dense,
                   const at::Scalar& alpha) {
    const std::int64_t count = elements.values.size(0), columns = dense.size(1);
    if (count == 0)
        return;
    const at::Tensor values = elements.values.to(result.scalar_type()).mul(alpha).unsqueeze(1);
    const std::int64_t step = std::max<std::int64_t>(max_temporary_elements / count, 1);
    for (std::int64_t first = 0; first < columns; first += step) {
        const std::int64_t width = std::min(step, columns - first);
        const at::Tensor part = dense.narrow(1, first, width).index_select(0, elements.columns);
        result.narrow(1, first, width)
            .index_add_(0, elements.rows, part.to(result.scalar_type()).mul_(values));
    }
}

/// Computes the product. Accumulates 16-bit dtypes in float32.
at::Tensor multiply(const Terms& terms) {
    const at::ScalarType dtype = terms.dense().scalar_type();
    const auto sums = terms.dense().options().dtype(dtype == at::kDouble ? at::kDouble : at::kFloat);
    at::Tensor result = at::zeros({terms.left.size(0), terms.right.size(1)}, sums);
    if (terms.self.defined() && !terms.beta.equal(0))
        result.add_(terms.self, terms.beta);
    Elements elements = elements_of(terms.sparse());
    if (terms.left_is_sparse()) {
        add_multiples(result, elements, terms.right, terms.alpha);
    } else {
        std::swap(elements.rows, elements.columns);
        add_multiples(result.t(), elements, terms.left.t(), terms.alpha);
    }
    return result.to(dtype);
}

/// Where an operator writes its result: to a new tensor, to `self`, or to `out`.
enum class Place { fresh, self, out };

Terms terms_of(const c10::OperatorHandle& op, const c10::IValue* arguments) {
    if (op.schema().name() != "aten::mm" && op.schema().name() != "aten::mv")
        return {arguments[0].toTensor(), arguments[1].toTensor(), arguments[2].toTensor(),
                arguments[3].toScalar(), arguments[4].toScalar()};
    at::Tensor right = arguments[1].toTensor();
    if (right.dim() == 1 && right.layout() == at::kStrided)
        right = right.unsqueeze(1);
    return {at::Tensor(), arguments[0].toTensor(), right};
}

/// The boxed kernel of mm, mv and addmm, for the sparse dispatch key that corresponds to `cpu_key`.
template <DispatchKey cpu_key, Place place>
void product(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const std::size_t count = op.schema().arguments().size();
    const c10::IValue* arguments = &stack->back() + 1 - count;
    const Terms terms = terms_of(op, arguments);
    const at::Tensor out = place == Place::out ? stack->back().toTensor() : terms.self;
    if (!accepted(terms) || (place == Place::out && out.layout() != at::kStrided)) {
        run_on_cpu(op, stack, cpu_key);
        return;
    }
    at::Tensor result = multiply(terms);
    if (op.schema().name() == "aten::mv")
        result = result.squeeze(1);
    torch::jit::drop(*stack, count);
    if (place == Place::fresh) {
        torch::jit::push(*stack, result);
        return;
    }
    if (place == Place::out)
        at::native::resize_output(out, result.sizes());
    torch::jit::push(*stack, out.copy_(result));
}

/// sparse_mask(self, mask): a sparse matrix with the elements of `self` at the positions of the mask's
/// elements.
template <DispatchKey cpu_key>
void masked(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const std::size_t count = op.schema().arguments().size();
    const c10::IValue* arguments = &stack->back() + 1 - count;
    const at::Tensor matrix = arguments[0].toTensor(), mask = arguments[1].toTensor();
    if (matrix.layout() != at::kStrided || mask.layout() != at::kSparse || !has_elements(mask) ||
        !mask.is_coalesced() || matrix.sizes() != mask.sizes() || matrix.device() != mask.device()) {
        run_on_cpu(op, stack, cpu_key);
        return;
    }
    const Elements elements = elements_of(mask);
    const at::Tensor places = elements.rows.mul(matrix.size(1)).add_(elements.columns);
    const at::Tensor values = matrix.reshape({-1}).index_select(0, places);
    torch::jit::drop(*stack, count);
    torch::jit::push(*stack, at::_sparse_coo_tensor_unsafe(mask._indices(), values, mask.sizes(),
                                                           values.options().layout(at::kSparse), true));
}

/// sparse_sampled_addmm(self, left, right, beta, alpha): computes beta * self + alpha * left * right only at
/// the positions of the stored elements of `self`, which is in CSR. Autograd uses it for the gradient of a
/// CSR factor.
void sampled_product(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const std::size_t count = op.schema().arguments().size();
    const Terms terms = terms_of(op, &stack->back() + 1 - count);
    const at::Tensor &self = terms.self, &left = terms.left, &right = terms.right;
    const auto fits = [&self](const at::Tensor& matrix) {
        return matrix.layout() == at::kStrided && matrix.dim() == 2 && matrix.device() == self.device() &&
               matrix.scalar_type() == self.scalar_type();
    };
    if (self.layout() != at::kSparseCsr || !has_elements(self) || !at::isFloatingType(self.scalar_type()) ||
        !fits(left) || !fits(right) || left.size(1) != right.size(0) || left.size(0) != self.size(0) ||
        right.size(1) != self.size(1)) {
        run_on_cpu(op, stack, DispatchKey::SparseCsrCPU);
        return;
    }
    const Elements elements = elements_of(self);
    const at::Tensor products =
        left.index_select(0, elements.rows).mul_(right.t().index_select(0, elements.columns));
    at::Tensor values = products.sum(1).mul_(terms.alpha);
    if (!terms.beta.equal(0))
        values.add_(elements.values, terms.beta);
    torch::jit::drop(*stack, count);
    torch::jit::push(*stack, at::_sparse_csr_tensor_unsafe(self.crow_indices(), self.col_indices(), values,
                                                           self.sizes(), self.options()));
}

template <DispatchKey cpu_key>
void register_products(torch::Library& m) {
    m.impl("mm", torch::CppFunction::makeFromBoxedFunction<&product<cpu_key, Place::fresh>>());
    m.impl("mv", torch::CppFunction::makeFromBoxedFunction<&product<cpu_key, Place::fresh>>());
    m.impl("addmm", torch::CppFunction::makeFromBoxedFunction<&product<cpu_key, Place::fresh>>());
    m.impl("addmm_", torch::CppFunction::makeFromBoxedFunction<&product<cpu_key, Place::self>>());
    m.impl("mm.out", torch::CppFunction::makeFromBoxedFunction<&product<cpu_key, Place::out>>());
    m.impl("addmm.out", torch::CppFunction::makeFromBoxedFunction<&product<cpu_key, Place::out>>());
}

TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m) {
    register_products<DispatchKey::SparseCPU>(m);
    m.impl("sparse_mask", torch::CppFunction::makeFromBoxedFunction<&masked<DispatchKey::SparseCPU>>());
}
TORCH_LIBRARY_IMPL(aten, SparseCsrPrivateUse1, m) {
    register_products<DispatchKey::SparseCsrCPU>(m);
    m.impl("sparse_sampled_addmm", torch::CppFunction::makeFromBoxedFunction<&sampled_product>());
}

} // namespace

} // namespace rvk
