/// mm, bmm, addmm, baddbmm, addmv, addbmm, addr, dot, vdot. (mv, linear, matmul and einsum are built on
/// these.)

#include "../../dispatch/same_dtype.h"
#include "../../dispatch/structured.h"
#include "matrices.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/addmm_native.h>
#include <ATen/ops/addmv_native.h>
#include <ATen/ops/addr_native.h>
#include <ATen/ops/baddbmm_native.h>
#include <ATen/ops/bmm_native.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm_native.h>
#include <ATen/ops/vdot.h>

namespace rvk {

namespace {

using at::Scalar;
using at::Tensor;

ProductSizes sizes_of(const Tensor& result) {
    return {result.device(), result.scalar_type(), result.dim() == 3 ? result.size(0) : 1};
}

struct MatrixProduct : at::meta::structured_mm {
    void impl(const Tensor& self, const Tensor& mat2, const Tensor& out) {
        require_same_dtype(self, "m1", mat2, "m2");
        multiply_matrices(sizes_of(out), Matrices::of(self), Matrices::of(mat2), Matrices::of(out));
    }
};

struct BatchedProduct : at::meta::structured_bmm {
    void impl(const Tensor& self, const Tensor& mat2, const Tensor& out) {
        require_same_dtype(self, "m1", mat2, "m2");
        multiply_matrices(sizes_of(out), Matrices::of(self), Matrices::of(mat2), Matrices::of(out));
    }
};

void multiply_and_add(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                      const Scalar& alpha, const Tensor& out) {
    require_same_dtype(a, "m1", b, "m2");
    require_same_dtype(self, "self", a, "m1");
    const Matrices c = Matrices::of(out);
    multiply_matrices(sizes_of(out), Matrices::of(a), Matrices::of(b), c, alpha,
                      Matrices::broadcast_of(self, c.rows, c.columns), beta);
}

struct AddedProduct : at::meta::structured_addmm {
    void impl(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
              const Scalar& alpha, const Tensor& out) {
        multiply_and_add(self, mat1, mat2, beta, alpha, out);
    }
};

struct AddedBatchedProduct : at::meta::structured_baddbmm {
    void impl(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha, const Tensor& out) {
        multiply_and_add(self, batch1, batch2, beta, alpha, out);
    }
};

/// PyTorch's meta function writes `self` into `out` before the product reads its factors, so factors that
/// alias `out` are copied.
Tensor& baddbmm_out(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                    const Scalar& alpha, Tensor& out) {
    static const auto structured =
        detail::Structured<AddedBatchedProduct, 1, decltype(&AddedBatchedProduct::meta)>::out("baddbmm.out");
    const auto apart = [&](const Tensor& factor) {
        return out.is_alias_of(factor) ? factor.clone() : factor;
    };
    return structured(self, apart(batch1), apart(batch2), beta, alpha, out);
}

struct AddedVectorProduct : at::meta::structured_addmv {
    void impl(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
              const Scalar& alpha, const Tensor& out) {
        require_same_dtype(mat, "mat", vec, "vec"); // PyTorch before 2.13 leaves it to the kernel
        require_same_dtype(self, "self", mat, "mat");
        const Matrices c = Matrices::column_of(out);
        Matrices added = Matrices::broadcast_of(self, 1, c.rows);
        if (self.dim() == 1)
            added.batch_stride = 0;
        multiply_matrices(sizes_of(out), Matrices::of(mat), Matrices::column_of(vec), c, alpha,
                          added.transposed(), beta);
    }
};

void check_vectors(const Tensor& self, const Tensor& other, const char* name) {
    TORCH_CHECK(self.dim() == 1 && other.dim() == 1, "1D tensors expected, but got ", self.dim(), "D and ",
                other.dim(), "D tensors");
    TORCH_CHECK(self.scalar_type() == other.scalar_type(), name,
                " : expected both vectors to have same dtype, but found ", self.scalar_type(), " and ",
                other.scalar_type());
    TORCH_CHECK(self.size(0) == other.size(0), "inconsistent tensor size, expected tensor [", self.size(0),
                "] and src [", other.size(0), "] to have the same number of elements, but got ", self.size(0),
                " and ", other.size(0), " elements respectively");
    TORCH_CHECK(self.device() == other.device(),
                "Expected all tensors to be on the same device. Found: ", self.device(), ", ",
                other.device());
}

Tensor dot_product(const Tensor& self, const Tensor& other) {
    check_vectors(self, other, "dot");
    if (self.is_conj()) // lazily conjugates the result where the CPU does
        return other.is_conj() ? at::dot(self.conj(), other.conj()).conj() : at::vdot(self.conj(), other);
    if (other.is_conj())
        return at::vdot(other.conj(), self);
    const Tensor out = at::empty({1}, self.options());
    multiply_matrices(sizes_of(out), Matrices::column_of(self).transposed(), Matrices::column_of(other),
                      Matrices::column_of(out));
    return out.squeeze(0);
}

/// Handles real vectors; complex ones fall back to the CPU, with lazy conjugation resolved here.
Tensor vdot_product(const Tensor& self, const Tensor& other) {
    if (self.is_conj())
        return other.is_conj() ? at::vdot(other.conj(), self.conj()) : at::dot(self.conj(), other);
    if (other.is_conj())
        return at::dot(self, other.conj()).conj();
    number_family(self.scalar_type(), self.device());
    return dot_product(self, other);
}

/// The sum of the products of a batch: one product whose k also runs over the batch.
Tensor& addbmm_into(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                    const Scalar& alpha, Tensor& out) {
    TORCH_CHECK(batch1.dim() == 3, "batch1 must be a 3D tensor");
    TORCH_CHECK(batch2.dim() == 3, "batch2 must be a 3D tensor");
    TORCH_CHECK(batch1.size(0) == batch2.size(0), "batch1 and batch2 must have same number of batches, got ",
                batch1.size(0), " and ", batch2.size(0));
    TORCH_CHECK(batch1.size(2) == batch2.size(1), "Incompatible matrix sizes for bmm (", batch1.size(1), "x",
                batch1.size(2), " and ", batch2.size(1), "x", batch2.size(2), ")");
    number_family(self.scalar_type(), self.device());
    const std::int64_t k = batch1.size(0) * batch1.size(2);
    const Tensor a = batch1.permute({1, 0, 2}).reshape({batch1.size(1), k});
    const Tensor b = batch2.reshape({k, batch2.size(2)});
    return at::addmm_out(out, self, a, b, beta, alpha);
}

Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
    Tensor out = at::empty({0}, self.options());
    return addbmm_into(self, batch1, batch2, beta, alpha, out);
}

Tensor& addbmm_in_place(Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                        const Scalar& alpha) {
    const bool fits = batch1.dim() == 3 && batch2.dim() == 3 &&
                      self.sizes() == at::IntArrayRef{batch1.size(1), batch2.size(2)};
    // A smaller tensor is broadcast, which resizes it, as on the CPU.
    return addbmm_into(fits ? self : self.clone(), batch1, batch2, beta, alpha, self);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_structured<MatrixProduct>(m, "mm", "mm.out");
    register_structured<BatchedProduct>(m, "bmm", "bmm.out");
    register_structured<AddedProduct>(m, "addmm", "addmm.out", "addmm_");
    register_structured<AddedBatchedProduct>(m, "baddbmm", nullptr, "baddbmm_");
    m.impl("baddbmm.out", TORCH_FN(baddbmm_out));
    register_structured<AddedVectorProduct>(m, "addmv", "addmv.out", "addmv_");
    // PyTorch's composite kernels, registered here for the device check that CUDA has, too.
    register_operator(m, "addr", &at::native::math_addr);
    register_operator(m, "addr.out", &at::native::math_addr_out);
    register_operator(m, "dot", &dot_product);
    register_operator(m, "vdot", &vdot_product);
    register_operator(m, "addbmm", &addbmm);
    register_operator(m, "addbmm.out", &addbmm_into);
    register_operator(m, "addbmm_", &addbmm_in_place);
}

} // namespace

} // namespace rvk
