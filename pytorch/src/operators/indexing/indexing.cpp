/// Gather, scatter and other operators with index tensors.

#include "../../dispatch/structured.h"
#include "../lib/fill_value.h"
#include "index_operation.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/IndexKernel.h>
#include <ATen/native/ReductionType.h>
#include <ATen/native/TensorAdvancedIndexing.h>
#include <ATen/ops/_index_put_impl_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gather_native.h>
#include <ATen/ops/index_add_meta.h>
#include <ATen/ops/index_copy_meta.h>
#include <ATen/ops/index_fill_native.h>
#include <ATen/ops/index_meta.h>
#include <ATen/ops/index_reduce_meta.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/put_native.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/scatter_add_native.h>
#include <ATen/ops/scatter_native.h>
#include <ATen/ops/scatter_reduce_native.h>
#include <ATen/ops/take_native.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros_like.h>
#include <limits>

namespace rvk {

namespace {

IndexReduction reduction_of(at::native::ReductionType type) {
    switch (type) {
    case at::native::ReductionType::MAX:
        return IndexReduction::maximum;
    case at::native::ReductionType::MIN:
        return IndexReduction::minimum;
    case at::native::ReductionType::PROD:
        return IndexReduction::product;
    default:
        return IndexReduction::sum; // the caller divides to get the mean
    }
}

/// A one-element tensor of the number, expanded to `sizes`.
at::Tensor repeated(const at::Scalar& value, const at::Tensor& like, at::IntArrayRef sizes) {
    return at::scalar_tensor(value, like.options()).expand(sizes);
}

// --- gather and scatter

void gather_elements(const at::Tensor& result, const at::Tensor& self, std::int64_t dim,
                     const at::Tensor& index) {
    IndexOperation::elements(self, dim, index, result).gather(self, result);
}
void scatter_elements(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                      const at::Tensor& source) {
    IndexOperation::elements(self, dim, index, source).scatter(self, source, /*unique=*/false);
}
void scatter_number(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                    const at::Scalar& value) {
    const at::Tensor source = repeated(value, self, index.sizes());
    IndexOperation::elements(self, dim, index, source).scatter(self, source, /*unique=*/true);
}
void accumulate_elements(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                         const at::Tensor& source, IndexReduction reduction) {
    if (self.is_complex()) {
        TORCH_CHECK_NOT_IMPLEMENTED(reduction == IndexReduction::sum,
                                    "complex reductions other than the sum");
        if (self.dim() == 0) {
            accumulate_elements(self.unsqueeze(0), 0, index.reshape({-1}), source.reshape({-1}), reduction);
            return;
        }
        auto sizes = index.sizes().vec();
        sizes.push_back(2);
        accumulate_elements(at::view_as_real(self), at::maybe_wrap_dim(dim, self.dim()),
                            index.unsqueeze(-1).expand(sizes), at::view_as_real(source.resolve_conj()),
                            reduction);
        return;
    }
    IndexOperation::elements(self, dim, index, source)
        .accumulate(self, source, self.scalar_type(), reduction);
}
void scatter_add(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                 const at::Tensor& source) {
    accumulate_elements(self, dim, index, source, IndexReduction::sum);
}
void scatter_reduce(const at::Tensor& self, const std::int64_t dim, const at::Tensor& index,
                    const at::Tensor& source, const at::native::ReductionType& type) {
    TORCH_CHECK_NOT_IMPLEMENTED(type != at::native::ReductionType::MEAN || self.scalar_type() != at::kBool,
                                "a mean of bool"); // as on the CPU
    accumulate_elements(self, dim, index, source, reduction_of(type));
}
void scatter_reduce_number(const at::Tensor& self, const std::int64_t dim, const at::Tensor& index,
                           const at::Scalar& value, const at::native::ReductionType& type) {
    accumulate_elements(self, dim, index, repeated(value, self, index.sizes()), reduction_of(type));
}

// --- index and index_put

/// The indexed tensor, with all elements that indices may select: the iterator's view has stride 0 along the
/// indexed dimensions, so its range of bytes is too small.
IndexedOperand whole_operand(const at::TensorIteratorBase& iterator, int operand, at::IntArrayRef sizes,
                             at::IntArrayRef strides) {
    Access access = writes(iterator, operand);
    for (std::size_t k = 0; k < sizes.size(); ++k)
        if (sizes[k] > 0)
            access.bytes += static_cast<std::uint64_t>((sizes[k] - 1) * strides[k]);
    return {address(iterator, operand), access};
}
IndexedOperand plain_operand(const at::TensorIteratorBase& iterator, int operand) {
    return {address(iterator, operand), writes(iterator, operand)};
}

struct Index : at::meta::structured_index_Tensor {
    using Indices = c10::List<std::optional<at::Tensor>>;
    at::DimVector indexed_sizes, indexed_strides;

    void meta(const at::Tensor& self, const Indices& indices) {
        auto computed = at::meta::structured_index_Tensor::meta(self, at::IOptTensorListRef(indices));
        indexed_sizes = std::move(computed.sizes);
        indexed_strides = std::move(computed.strides);
    }
    void impl(const at::Tensor&, const Indices&, const at::Tensor&) {
        if (numel() == 0)
            return;
        IndexOperation::of_iterator(*this, indexed_sizes, indexed_strides, /*reads_target=*/true)
            .gather(whole_operand(*this, 1, indexed_sizes, indexed_strides), plain_operand(*this, 0));
    }
};

void put_at_indices(at::TensorIterator& iterator, at::IntArrayRef sizes, at::IntArrayRef strides,
                    bool accumulate) {
    if (iterator.numel() == 0)
        return;
    const auto operation = IndexOperation::of_iterator(iterator, sizes, strides, /*reads_target=*/false);
    const IndexedOperand target = whole_operand(iterator, 0, sizes, strides);
    if (!accumulate) {
        operation.scatter(target, plain_operand(iterator, 1), /*unique=*/false);
        return;
    }
    TORCH_CHECK_NOT_IMPLEMENTED(!at::isComplexType(iterator.dtype(0)),
                                "index_put with accumulate of complex numbers");
    operation.accumulate(target, plain_operand(iterator, 1), iterator.dtype(0), IndexReduction::sum);
}

// --- along one dimension

void check_vector(const at::Tensor& index, const char* name) {
    TORCH_CHECK_INDEX(index.dim() <= 1, name,
                      "(): Index is supposed to be a vector, but got dim: ", index.dim());
    TORCH_CHECK(index.scalar_type() == at::kLong || index.scalar_type() == at::kInt, name,
                "(): Expected dtype int32 or int64 for index");
}

at::Tensor& index_select_out(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                             at::Tensor& out) {
    dim = at::maybe_wrap_dim(dim, self.dim());
    check_vector(index, "index_select");
    TORCH_CHECK(self.scalar_type() == out.scalar_type(),
                "index_select(): self and result must have the same scalar type");
    TORCH_CHECK(self.dim() > 0 || index.numel() == 1,
                "index_select(): Index to scalar can have only 1 value, got ", index.numel(), " value(s)");
    TORCH_CHECK(index.device() == self.device(),
                "index_select(): Expected all tensors to be on the same device, but ", "found ",
                self.device(), " and ", index.device());
    at::assert_no_internal_overlap(out);
    at::assert_no_overlap(out, self);
    at::assert_no_overlap(out, index);
    auto sizes = self.sizes().vec();
    if (!sizes.empty())
        sizes[static_cast<std::size_t>(dim)] = index.numel();
    at::native::resize_output(out, sizes);
    if (out.numel() != 0) {
        TORCH_CHECK_INDEX(self.numel() != 0,
                          "index_select(): cannot select from a dimension without elements");
        IndexOperation::along(self, dim, index, out).gather(self, out);
    }
    return out;
}
at::Tensor index_select(const at::Tensor& self, std::int64_t dim, const at::Tensor& index) {
    at::Tensor out = at::empty({0}, self.options());
    return index_select_out(self, dim, index, out);
}

void accumulate_along(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                      const at::Tensor& source, IndexReduction reduction) {
    dim = at::maybe_wrap_dim(dim, self.dim());
    if (self.is_complex()) {
        TORCH_CHECK_NOT_IMPLEMENTED(reduction == IndexReduction::sum,
                                    "complex reductions other than the sum");
        if (self.dim() == 0) {
            accumulate_along(self.unsqueeze(0), 0, index, source.reshape({-1}), reduction);
            return;
        }
        accumulate_along(at::view_as_real(self), dim, index, at::view_as_real(source.resolve_conj()),
                         reduction);
        return;
    }
    IndexOperation::along(self, dim, index, source).accumulate(self, source, self.scalar_type(), reduction);
}

struct IndexAdd : at::meta::structured_index_add {
    void impl(const at::Tensor& self, std::int64_t dim, const at::Tensor& index, const at::Tensor& source,
              const at::Scalar& alpha, const at::Tensor& out) {
        if (!out.is_same(self))
            out.copy_(self);
        if (out.numel() != 0 && index.numel() != 0)
            accumulate_along(out, dim, index, alpha.equal(1) ? source : source.mul(alpha),
                             IndexReduction::sum);
    }
};

struct IndexCopy : at::meta::structured_index_copy {
    void impl(const at::Tensor& self, std::int64_t dim, const at::Tensor& index, const at::Tensor& source,
              const at::Tensor& out) {
        if (!out.is_same(self))
            out.copy_(self);
        if (out.numel() != 0 && index.numel() != 0)
            IndexOperation::along(out, dim, index, source).scatter(out, source, /*unique=*/false);
    }
};

struct IndexReduce : at::meta::structured_index_reduce {
    void impl(const at::Tensor& self, std::int64_t dim, const at::Tensor& index, const at::Tensor& source,
              c10::string_view reduce, bool include_self, const at::Tensor& out) {
        TORCH_CHECK_NOT_IMPLEMENTED(out.scalar_type() != at::kBool,
                                    "index_reduce of bool"); // as on the CPU
        if (!out.is_same(self))
            out.copy_(self);
        if (out.numel() == 0 || index.numel() == 0)
            return;
        const auto type = at::native::get_operator_enum(reduce, /*use_new_options=*/true);
        const IndexReduction reduction = reduction_of(type);
        if (!include_self)
            fill_neutral(out, dim, index, source.sizes(), reduction);
        accumulate_along(out, dim, index, source, reduction);
        if (type != at::native::ReductionType::MEAN)
            return;
        at::Tensor counts = include_self ? at::ones_like(out) : at::zeros_like(out);
        accumulate_along(counts, dim, index, at::ones_like(source), IndexReduction::sum);
        counts.masked_fill_(counts.eq(0), 1);
        if (out.is_floating_point())
            out.div_(counts);
        else
            out.div_(counts, "floor");
    }

  private:
    static void fill_neutral(const at::Tensor& out, std::int64_t dim, const at::Tensor& index,
                             at::IntArrayRef sizes, IndexReduction reduction) {
        const at::Tensor source = repeated(neutral(reduction, out.scalar_type()), out, sizes);
        IndexOperation::along(out, dim, index, source).scatter(out, source, /*unique=*/true);
    }
    static at::Scalar neutral(IndexReduction reduction, at::ScalarType dtype) {
        switch (reduction) {
        case IndexReduction::product:
            return 1;
        case IndexReduction::maximum:
            return extreme(dtype, false);
        case IndexReduction::minimum:
            return extreme(dtype, true);
        default:
            return 0;
        }
    }
    static at::Scalar extreme(at::ScalarType dtype, bool highest) {
        if (at::isFloatingType(dtype))
            return highest ? std::numeric_limits<double>::infinity()
                           : -std::numeric_limits<double>::infinity();
        const auto of = [&]<class T>(T) {
            return at::Scalar(static_cast<std::int64_t>(highest ? std::numeric_limits<T>::max()
                                                                : std::numeric_limits<T>::lowest()));
        };
        switch (dtype) {
        case at::kByte:
            return of(std::uint8_t{});
        case at::kChar:
            return of(std::int8_t{});
        case at::kShort:
            return of(std::int16_t{});
        case at::kInt:
            return of(std::int32_t{});
        default:
            return of(std::int64_t{});
        }
    }
};

at::Tensor& index_fill(at::Tensor& self, std::int64_t dim, const at::Tensor& index, const at::Tensor& value) {
    TORCH_CHECK_INDEX(index.scalar_type() == at::kLong || index.scalar_type() == at::kInt,
                      "index_fill_(): Expected dtype int32/int64 for index.");
    TORCH_CHECK(index.dim() <= 1, "Index has to be a vector/scalar");
    TORCH_CHECK(value.dim() == 0,
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.dim(),
                " dimension(s).");
    TORCH_CHECK(self.is_complex() || !value.is_complex(),
                "index_fill_(): Converting complex Scalar to non-complex type is not supported");
    warn_about_expanded(self, "index_fill_", "tensor[mask] = scalar");
    at::assert_no_overlap(self, index);
    const auto number = value_to_check(value, self.scalar_type());
    const at::Tensor number_there = number ? at::scalar_tensor(*number, self.options()) : value;
    dim = at::maybe_wrap_dim(dim, self.dim());
    if (self.numel() == 0 || index.numel() == 0)
        return self;
    auto sizes = self.sizes().vec();
    if (!sizes.empty())
        sizes[static_cast<std::size_t>(dim)] = index.numel();
    const at::Tensor source = number_there.to(self.options()).expand(sizes);
    auto operation = IndexOperation::along(self, dim, index, source);
    operation.wrap();
    operation.scatter(self, source, /*unique=*/true);
    return self;
}
at::Tensor& index_fill_number(at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                              const at::Scalar& value) {
    TORCH_CHECK(self.is_complex() || !value.isComplex(),
                "index_fill_(): Converting complex Scalar to non-complex type is not supported");
    return index_fill(self, dim, index, at::scalar_tensor(value, self.options()));
}

// --- take and put: the tensor as one row

at::Tensor& take_out(const at::Tensor& self, const at::Tensor& index, at::Tensor& out) {
    TORCH_CHECK(index.scalar_type() == at::kLong, "take(): Expected a long tensor for index, but got ",
                index.scalar_type());
    TORCH_CHECK(self.scalar_type() == out.scalar_type(),
                "take(): self and out expected to have the same dtype");
    TORCH_CHECK(self.device() == out.device() && self.device() == index.device(),
                "take(): self, index and out expected to be in the same device");
    TORCH_CHECK_INDEX(!(self.numel() == 0 && index.numel() != 0),
                      "take(): tried to take from an empty tensor");
    at::assert_no_internal_overlap(out);
    at::assert_no_overlap(out, index);
    at::assert_no_overlap(out, self);
    at::native::resize_output(out, index.sizes());
    if (index.numel() != 0) {
        const at::Tensor row = self.contiguous();
        IndexOperation::flat(row, index, out).gather(row, out);
    }
    return out;
}
at::Tensor take(const at::Tensor& self, const at::Tensor& index) {
    at::Tensor out = at::empty(index.sizes(), self.options());
    return take_out(self, index, out);
}

at::Tensor& put(at::Tensor& self, const at::Tensor& index, const at::Tensor& source, bool accumulate) {
    TORCH_CHECK(index.scalar_type() == at::kLong, "put_(): Expected a long tensor for index, but got ",
                index.scalar_type());
    TORCH_CHECK(self.scalar_type() == source.scalar_type(),
                "put_(): self and source expected to have the same dtype, ",
                "but got self.dtype = ", self.scalar_type(), " and source.dtype = ", source.scalar_type());
    TORCH_CHECK(self.device() == source.device() && self.device() == index.device(),
                "put_(): self, index and source expected to be in the same device");
    TORCH_CHECK_INDEX(
        source.numel() == index.numel(),
        "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
        source.numel(), ", index.numel() = ", index.numel());
    TORCH_CHECK_INDEX(!(self.numel() == 0 && index.numel() != 0),
                      "put_(): Tried to put elements into an empty tensor");
    at::assert_no_internal_overlap(self);
    at::assert_no_overlap(self, index);
    at::assert_no_overlap(self, source);
    if (index.numel() == 0)
        return self;
    const at::Tensor row = self.contiguous();
    const at::Tensor values = source.reshape(index.sizes());
    if (accumulate && self.is_complex()) {
        const at::Tensor places = index.reshape({-1});
        const at::Tensor wrapped = places.add(places.lt(0).mul(self.numel()));
        accumulate_along(row.view({-1}), 0, wrapped, values.reshape({-1}), IndexReduction::sum);
    } else if (accumulate)
        IndexOperation::flat(row, index, values)
            .accumulate(row, values, row.scalar_type(), IndexReduction::sum);
    else
        IndexOperation::flat(row, index, values).scatter(row, values, /*unique=*/false);
    if (!row.is_same(self))
        self.copy_(row);
    return self;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_structured<Index>(m, "index.Tensor", "index.Tensor_out");
    register_operator(m, "_index_put_impl_", &at::native::_index_put_impl_);
    register_structured<at::native::structured_gather_out>(m, "gather", "gather.out");
    register_structured<at::native::structured_scatter_src_out>(m, "scatter.src", "scatter.src_out",
                                                                "scatter_.src");
    register_structured<at::native::structured_scatter_value_out>(m, "scatter.value", "scatter.value_out",
                                                                  "scatter_.value");
    register_structured<at::native::structured_scatter_reduce_out>(m, "scatter.reduce", "scatter.reduce_out",
                                                                   "scatter_.reduce");
    register_structured<at::native::structured_scatter_value_reduce_out>(
        m, "scatter.value_reduce", "scatter.value_reduce_out", "scatter_.value_reduce");
    register_structured<at::native::structured_scatter_add>(m, "scatter_add", "scatter_add.out",
                                                            "scatter_add_");
    register_structured<at::native::structured_scatter_reduce_two>(
        m, "scatter_reduce.two", "scatter_reduce.two_out", "scatter_reduce_.two");
    register_operator(m, "index_select", &index_select);
    register_operator(m, "index_select.out", &index_select_out);
    register_structured<IndexAdd>(m, "index_add", "index_add.out", "index_add_");
    register_structured<IndexCopy>(m, "index_copy", "index_copy.out", "index_copy_");
    register_structured<IndexReduce>(m, "index_reduce", "index_reduce.out", "index_reduce_");
    register_operator(m, "index_fill_.int_Tensor", &index_fill);
    register_operator(m, "index_fill_.int_Scalar", &index_fill_number);
    register_operator(m, "take", &take);
    register_operator(m, "take.out", &take_out);
    register_operator(m, "put_", &put);
}

} // namespace

} // namespace rvk

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(gather_stub, &rvk::gather_elements)
REGISTER_PRIVATEUSE1_DISPATCH(scatter_stub, &rvk::scatter_elements)
REGISTER_PRIVATEUSE1_DISPATCH(scatter_fill_stub, &rvk::scatter_number)
REGISTER_PRIVATEUSE1_DISPATCH(scatter_add_stub, &rvk::scatter_add)
REGISTER_PRIVATEUSE1_DISPATCH(scatter_reduce_stub, &rvk::scatter_reduce)
REGISTER_PRIVATEUSE1_DISPATCH(scatter_scalar_reduce_stub, &rvk::scatter_reduce_number)
REGISTER_PRIVATEUSE1_DISPATCH(scatter_reduce_two_stub, &rvk::scatter_reduce)
REGISTER_PRIVATEUSE1_DISPATCH(index_put_stub, &rvk::put_at_indices)
} // namespace at::native
