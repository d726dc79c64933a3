/// cat, flip, roll, triangles and other shape operators.

#include "../../dispatch/same_dtype.h"
#include "../../dispatch/structured.h"
#include "../copy/copy.h"
#include "movement.h"

#include <ATen/DimVector.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/Cross.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/cat_meta.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linalg_cross_native.h>
#include <ATen/ops/native_channel_shuffle_native.h>
#include <ATen/ops/nonzero_static.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/pixel_shuffle_native.h>
#include <ATen/ops/pixel_unshuffle_native.h>
#include <ATen/ops/tril_meta.h>
#include <ATen/ops/triu_meta.h>
#include <c10/util/strides.h>
#include <optional>

namespace rvk {

namespace {

// --- cat

/// Contiguous tensors that follow each other in one storage. They already lie in memory as torch.cat along
/// the first dimension arranges them, so one copy moves them all.
class Run {
  public:
    explicit Run(const at::Tensor& first) : first_(first), end_(first.storage_offset() + first.numel()) {}

    /// Adds the tensor if it follows the run, and returns whether it does. Its shape may differ from the
    /// run's only in the first dimension.
    bool add(const at::Tensor& next) {
        if (!first_.is_contiguous() || !next.is_contiguous() || !next.is_alias_of(first_) ||
            next.storage_offset() != end_ || next.scalar_type() != first_.scalar_type() ||
            next.is_conj() != first_.is_conj() || next.is_neg() != first_.is_neg())
            return false;
        end_ += next.numel();
        return true;
    }
    at::Tensor whole() const {
        const std::int64_t begin = first_.storage_offset(), count = end_ - begin;
        if (count == first_.numel())
            return first_;
        at::DimVector sizes(first_.sizes());
        sizes[0] = count / (first_.numel() / first_.size(0));
        return first_.as_strided(sizes, c10::contiguous_strides(sizes), begin);
    }

  private:
    at::Tensor first_;
    std::int64_t end_; ///< in the storage, in elements
};

struct Cat : at::meta::structured_cat {
    void impl(const at::ITensorListRef& list, std::int64_t dim, const at::Tensor& out) {
        if (out.numel() == 0)
            return;
        const auto tensors = list.materialize();
        const auto along = at::legacy_cat_wrap_dim(dim, tensors);
        std::int64_t begin = 0;
        std::optional<Run> run;
        const auto copy_run = [&] {
            if (!run)
                return;
            const at::Tensor from = run->whole();
            const std::int64_t size = from.size(along);
            copy(out.narrow(along, begin, size), from);
            begin += size;
        };
        for (const at::Tensor& tensor : tensors) {
            at::assert_no_overlap(out, tensor);
            if (tensor.numel() == 0)
                continue;
            if (run && along == 0 && run->add(tensor))
                continue;
            copy_run();
            run.emplace(tensor);
        }
        copy_run();
    }

  private:
    static void copy(const at::Tensor& to, const at::Tensor& from) {
        if (from.device() == to.device() && !from.is_conj() && !from.is_neg())
            copy_on_device(to, from);
        else
            to.copy_(from);
    }
};

// --- flip, roll, triangles

at::Tensor flip(const at::Tensor& self, at::IntArrayRef dims) {
    const auto flipped = at::dim_list_to_bitset(dims, static_cast<std::size_t>(self.dim()));
    at::Tensor out = at::empty_like(self, at::MemoryFormat::Preserve);
    std::vector<MovementRule> rules(static_cast<std::size_t>(self.dim()));
    for (std::size_t d = 0; d < rules.size(); ++d)
        if (flipped[d])
            rules[d].kind = MovementRule::flip;
    move_elements(out, self, rules);
    return out;
}

at::Tensor roll(const at::Tensor& self, at::IntArrayRef shifts, at::IntArrayRef dims) {
    TORCH_CHECK(!shifts.empty(), "`shifts` required");
    if (dims.empty() && shifts.size() == 1)
        return roll(self.contiguous().view({self.numel()}), shifts, at::IntArrayRef{0}).view(self.sizes());
    TORCH_CHECK(shifts.size() == dims.size(), "shifts and dimensions must align. shifts: ", shifts.size(),
                ", dims:", dims.size());
    // The memory format that the CPU's result has, because the CPU concatenates two parts.
    at::Tensor out = at::empty(self.sizes(), self.options().memory_format(self.suggest_memory_format()));
    if (self.numel() == 0)
        return out;
    std::vector<MovementRule> rules(static_cast<std::size_t>(self.dim()));
    for (std::size_t i = 0; i < dims.size(); ++i) {
        const auto d = at::maybe_wrap_dim(dims[i], self.dim());
        const std::int64_t size = self.size(d);
        MovementRule& rule = rules[static_cast<std::size_t>(d)];
        const std::int64_t back = ((rule.a - shifts[i] % size) % size + size) % size;
        rule = {MovementRule::roll, back, size};
    }
    move_elements(out, self, rules);
    return out;
}

template <class Meta, Triangle triangle>
struct Triangular : Meta {
    void impl(const at::Tensor& self, std::int64_t diagonal, const at::Tensor& out) {
        move_elements(out, self, std::vector<MovementRule>(static_cast<std::size_t>(self.dim())), triangle,
                      diagonal);
    }
};

/// The coordinates of a triangle's elements, row by row, in a matrix of two rows.
at::Tensor triangle_indices(std::int64_t rows, std::int64_t columns, std::int64_t count, bool lower,
                            std::int64_t offset, std::optional<at::ScalarType> dtype,
                            std::optional<at::Layout> layout, std::optional<at::Device> device) {
    at::native::check_args(rows, columns, layout);
    const auto options = at::TensorOptions().dtype(at::kBool).device(c10::device_or_default(device));
    const at::Tensor whole = at::ones({rows, columns}, options);
    const at::Tensor kept = lower ? whole.tril(offset) : whole.triu(offset);
    return at::nonzero_static(kept, count).t().contiguous().to(dtype.value_or(at::kLong));
}
at::Tensor tril_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset,
                        std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                        std::optional<at::Device> device, std::optional<bool>) {
    return triangle_indices(rows, columns, at::native::get_tril_size(rows, columns, offset), true, offset,
                            dtype, layout, device);
}
at::Tensor triu_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset,
                        std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                        std::optional<at::Device> device, std::optional<bool>) {
    const std::int64_t count = rows * columns - at::native::get_tril_size(rows, columns, offset - 1);
    return triangle_indices(rows, columns, count, false, offset, dtype, layout, device);
}

at::Tensor trace(const at::Tensor& self) {
    TORCH_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
    return self.diagonal().sum();
}

void cross(const at::Tensor& result, const at::Tensor& a, const at::Tensor& b, const std::int64_t dim) {
    require_same_dtype(a, "input", b, "other");
    const at::Tensor first = a.roll(-1, dim).mul(b.roll(-2, dim));
    const at::Tensor second = a.roll(-2, dim).mul(b.roll(-1, dim));
    result.copy_(first.sub_(second));
}

// --- shuffles: PyTorch's compositions of views and a copy

/// The result as a new tensor in the input's memory format: a composition with nothing to move returns a view
/// of its input.
at::Tensor no_view_of(const at::Tensor& result, const at::Tensor& input) {
    const auto format = input.dim() == 4 ? input.suggest_memory_format() : at::MemoryFormat::Contiguous;
    const bool is_new = !result.is_alias_of(input) && result.suggest_memory_format() == format;
    return is_new ? result.contiguous(format) : result.clone(format);
}
at::Tensor pixel_shuffle(const at::Tensor& self, std::int64_t factor) {
    return no_view_of(at::native::math_pixel_shuffle(self, factor), self);
}
at::Tensor pixel_unshuffle(const at::Tensor& self, std::int64_t factor) {
    return no_view_of(at::native::math_pixel_unshuffle(self, factor), self);
}
at::Tensor channel_shuffle(const at::Tensor& self, std::int64_t groups) {
    return no_view_of(at::native::math_channel_shuffle(self, groups), self);
}

at::Tensor narrow_copy(const at::Tensor& self, std::int64_t dim, std::int64_t start, std::int64_t length) {
    return self.narrow(dim, start, length).clone(at::MemoryFormat::Contiguous);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_structured<Cat>(m, "cat", "cat.out");
    register_operator(m, "flip", &flip);
    register_operator(m, "roll", &roll);
    register_operator(m, "narrow_copy", &narrow_copy);
    register_structured<Triangular<at::meta::structured_tril, Triangle::lower>>(m, "tril", "tril.out",
                                                                                "tril_");
    register_structured<Triangular<at::meta::structured_triu, Triangle::upper>>(m, "triu", "triu.out",
                                                                                "triu_");
    register_operator(m, "tril_indices", &tril_indices);
    register_operator(m, "triu_indices", &triu_indices);
    register_operator(m, "trace", &trace);
    register_operator(m, "pixel_shuffle", &pixel_shuffle);
    register_operator(m, "pixel_unshuffle", &pixel_unshuffle);
    register_operator(m, "channel_shuffle", &channel_shuffle);
    register_operator(m, "native_channel_shuffle", &channel_shuffle);
    register_structured<at::native::structured_linalg_cross_out>(m, "linalg_cross", "linalg_cross.out");
}

} // namespace

} // namespace rvk

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(cross_stub, &rvk::cross)
} // namespace at::native
