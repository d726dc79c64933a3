/// Operators with masks, and nonzero. Selected elements are counted per block; the prefix sums of the counts
/// give each block its place in the output.

#include "../../dispatch/structured.h"
#include "../lib/fill_value.h"
#include "grouping.h"
#include "index_operation.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/indexing.h>

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <cstring>

namespace rvk {

namespace {

constexpr std::int64_t compaction_block = 2048;

/// The bytes of a number as an element of that dtype, lowest byte first.
std::array<std::uint64_t, 2> element_bits(const at::Scalar& value, at::ScalarType dtype) {
    const at::Tensor host = at::empty({1}, at::TensorOptions().dtype(dtype)).fill_(value);
    std::array<std::uint64_t, 2> bits{};
    std::memcpy(bits.data(), host.const_data_ptr(), host.element_size());
    return bits;
}

std::uint64_t sign_bits(at::ScalarType dtype) {
    switch (dtype) {
    case at::kHalf:
    case at::kBFloat16:
        return 0x8000;
    case at::kFloat:
        return 0x80000000;
    case at::kDouble:
    case at::kComplexDouble:
        return 0x8000000000000000;
    case at::kComplexFloat:
        return 0x8000000080000000;
    default:
        return 0;
    }
}

// --- masked_fill

/// value: a tensor of one element; if it is undefined, `number` is written.
at::Tensor& fill_where(at::Tensor& self, const at::Tensor& mask, const at::Tensor& value,
                       const at::Scalar& number) {
    TORCH_CHECK(self.device() == mask.device(),
                "expected self and mask to be on the same device, but got mask on ", mask.device(),
                " and self on ", self.device());
    TORCH_CHECK(mask.scalar_type() == at::kBool,
                "masked_fill_ only supports boolean masks, but got mask with dtype ", mask.scalar_type());
    warn_about_expanded(self, "masked_fill_", "tensor[mask] = scalar");
    at::assert_no_partial_overlap(self, mask);
    const auto expanded = at::expand_inplace(self, mask, "masked_fill_");
    // Raises an error if the dtype cannot represent the number, even if nothing is filled, as the CPU does.
    const auto bits =
        value.defined() ? std::array<std::uint64_t, 2>() : element_bits(number, self.scalar_type());
    auto iterator = at::TensorIteratorConfig()
                        .set_check_mem_overlap(false)
                        .check_all_same_dtype(false)
                        .resize_outputs(false)
                        .add_output(self)
                        .add_const_input(*expanded)
                        .build();
    if (iterator.numel() == 0)
        return self;
    IndexOperation operation(self.device(), static_cast<std::int64_t>(self.element_size()));
    for (int d = iterator.ndim() - 1; d >= 0; --d) {
        const auto along = static_cast<std::size_t>(d);
        operation.add_inner(
            {iterator.shape()[along], iterator.strides(0)[along], iterator.strides(1)[along]});
    }
    auto [p, layout] = operation.describe(address(self), address(mask), true);
    c10::SmallVector<Access, 3> accesses{writes(self), reads(mask)};
    if (value.defined()) {
        p.positions = address(value);
        accesses.push_back(reads(value));
    } else {
        p.fill_low = bits[0];
        p.fill_high = bits[1];
    }
    launch(self.device(), kernels::masked_fill, linear_groups(p.count, 256), p, accesses,
           {.bytes = static_cast<std::uint32_t>(self.element_size()),
            .operation = value.defined(),
            .indexes = 0});
    return self;
}
at::Tensor& masked_fill_number(at::Tensor& self, const at::Tensor& mask, const at::Scalar& value) {
    return fill_where(self, mask, {}, value);
}
at::Tensor& masked_fill_tensor(at::Tensor& self, const at::Tensor& mask, const at::Tensor& value) {
    TORCH_CHECK(value.dim() == 0,
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.dim(),
                " dimension(s).");
    if (const auto number = value_to_check(value, self.scalar_type()))
        return fill_where(self, mask, {}, *number);
    return fill_where(self, mask, value.to(self.scalar_type()), 0);
}

// --- compaction

/// The nonzero elements of `flags` in row-major order, and the elements at the same positions in another
/// tensor.
class Compaction {
  public:
    /// other: has the same sizes as `flags`.
    Compaction(const at::Tensor& flags, const at::Tensor& other)
        : flags_(flags), other_(other), items_(flags.numel()),
          operation_(flags.device(), static_cast<std::int64_t>(other.element_size())) {
        for (std::int64_t d = 0; d < flags.dim(); ++d)
            add(flags.size(d), bytes(other, d), bytes(flags, d));
        blocks_ = kernels::ceil_div(items_, compaction_block);
        if (items_ == 0)
            return;
        const at::Tensor counts = make_words(blocks_ + 1, flags.device());
        auto [p, layout] = described();
        p.workspace = address(counts);
        const std::array<Access, 2> accesses{reads(flags_), writes(counts)};
        launch(flags.device(), kernels::compact_count, linear_groups(blocks_, 1), p, accesses, constants(0));
        before_ = exclusive_sums(counts);
    }
    /// The number of nonzero elements; waits for the device.
    std::int64_t count() const {
        if (items_ == 0)
            return 0;
        const AllowCopyToHost allow("the size of the result depends on values");
        return before_.select(0, blocks_).item().toLong();
    }
    enum Operation : std::uint32_t { coordinates, select, scatter };
    /// room: the number of rows of `compacted`.
    void write(Operation operation, const at::Tensor& compacted, std::int64_t room) const {
        if (items_ == 0)
            return;
        auto [p, layout] = described();
        p.values = address(compacted);
        p.workspace = address(before_);
        p.inner = static_cast<std::uint32_t>(room);
        const std::array<Access, 4> accesses{
            reads(flags_), operation == scatter ? writes(other_) : reads(other_),
            operation == scatter ? reads(compacted) : writes(compacted), reads(before_)};
        launch(flags_.device(), kernels::compact_write, linear_groups(blocks_, 1), p, accesses,
               constants(operation));
    }

  private:
    static std::int64_t bytes(const at::Tensor& tensor, std::int64_t dim) {
        return tensor.stride(dim) * static_cast<std::int64_t>(tensor.element_size());
    }
    void add(std::int64_t size, std::int64_t other, std::int64_t flag) {
        operation_.add_dimension({size, other, flag});
    }
    ParametersWithBlock<kernels::IndexingParameters> described() const {
        auto all = operation_.describe(address(other_), 0, false);
        all.parameters.positions = address(flags_);
        all.parameters.fill_low = sign_bits(flags_.scalar_type());
        return all;
    }
    kernels::IndexingConstants constants(std::uint32_t operation) const {
        return {.bytes = static_cast<std::uint32_t>(other_.element_size()),
                .operation = operation,
                .indexes = 0,
                .flag_bytes = static_cast<std::uint32_t>(flags_.element_size())};
    }

    const at::Tensor flags_, other_;
    const std::int64_t items_;
    std::int64_t blocks_ = 0;
    IndexOperation operation_;
    at::Tensor before_;
};

at::Tensor& nonzero_out(const at::Tensor& self, at::Tensor& out) {
    TORCH_CHECK(out.scalar_type() == at::kLong,
                "nonzero: Expected out tensor to have scalar type Long but got ", out.scalar_type());
    TORCH_CHECK(self.device() == out.device(),
                "expected self and out to be on the same device, but got out on ", out.device(),
                " and self on ", self.device());
    at::assert_no_internal_overlap(out);
    at::assert_no_overlap(out, self);
    const at::Tensor plain = self.resolve_conj().resolve_neg();
    const Compaction compaction(plain, plain);
    const std::int64_t found = compaction.count();
    at::native::resize_output(out, {found, self.dim()});
    if (out.numel() == 0)
        return out;
    const at::Tensor rows = out.contiguous();
    compaction.write(Compaction::coordinates, rows, found);
    if (!rows.is_same(out))
        out.copy_(rows);
    return out;
}
at::Tensor nonzero(const at::Tensor& self) {
    at::Tensor out = at::empty({0}, self.options().dtype(at::kLong));
    // As on the CPU, each dimension's indices are contiguous; PyTorch's shape inference relies on it.
    return nonzero_out(self, out).t().contiguous().t();
}

at::Tensor& nonzero_static_out(const at::Tensor& self, std::int64_t size, std::int64_t fill_value,
                               at::Tensor& out) {
    TORCH_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer");
    TORCH_CHECK(out.scalar_type() == at::kLong,
                "nonzero_static: Expected out tensor to have scalar type Long but got ", out.scalar_type());
    at::native::resize_output(out, {size, self.dim()});
    out.fill_(fill_value);
    if (out.numel() == 0)
        return out;
    const at::Tensor plain = self.resolve_conj().resolve_neg();
    const at::Tensor rows = out.contiguous();
    Compaction(plain, plain).write(Compaction::coordinates, rows, size);
    if (!rows.is_same(out))
        out.copy_(rows);
    return out;
}
at::Tensor nonzero_static(const at::Tensor& self, std::int64_t size, std::int64_t fill_value) {
    at::Tensor out = at::empty({0}, self.options().dtype(at::kLong));
    return nonzero_static_out(self, size, fill_value, out);
}

at::Tensor& masked_select_out(const at::Tensor& self, const at::Tensor& mask, at::Tensor& out) {
    TORCH_CHECK(mask.scalar_type() == at::kBool, "masked_select: expected BoolTensor for mask");
    TORCH_CHECK(self.scalar_type() == out.scalar_type(),
                "masked_select(): self and result must have the same scalar type");
    at::assert_no_internal_overlap(out);
    at::assert_no_overlap(out, self);
    at::assert_no_overlap(out, mask);
    const auto [flags, values] = at::expand_outplace(mask, self);
    const Compaction compaction(*flags, *values);
    const std::int64_t found = compaction.count();
    at::native::resize_output(out, {found});
    if (found == 0)
        return out;
    const at::Tensor row = out.contiguous();
    compaction.write(Compaction::select, row, found);
    if (!row.is_same(out))
        out.copy_(row);
    return out;
}
at::Tensor masked_select(const at::Tensor& self, const at::Tensor& mask) {
    at::Tensor out = at::empty({0}, self.options());
    return masked_select_out(self, mask, out);
}

at::Tensor& masked_scatter(at::Tensor& self, const at::Tensor& mask, const at::Tensor& source) {
    TORCH_CHECK(self.scalar_type() == source.scalar_type(),
                "masked_scatter_: expected self and source to have same dtypes but got ", self.scalar_type(),
                " and ", source.scalar_type());
    TORCH_CHECK(mask.scalar_type() == at::kBool,
                "masked_scatter_ only supports boolean masks, but got mask with dtype ", mask.scalar_type());
    TORCH_CHECK(self.device() == mask.device() && self.device() == source.device(),
                "expected self, mask and source to be on the same device, but got mask on ", mask.device(),
                ", source on ", source.device(), " and self on ", self.device());
    at::assert_no_internal_overlap(self);
    const auto flags = at::expand_inplace(self, mask, "masked_scatter_");
    if (self.numel() != 0)
        Compaction(*flags, self).write(Compaction::scatter, source.contiguous(), source.numel());
    return self;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "masked_fill_.Scalar", &masked_fill_number);
    register_operator(m, "masked_fill_.Tensor", &masked_fill_tensor);
    register_operator(m, "masked_scatter_", &masked_scatter);
    register_operator(m, "masked_select", &masked_select);
    register_operator(m, "masked_select.out", &masked_select_out);
    register_operator(m, "nonzero", &nonzero);
    register_operator(m, "nonzero.out", &nonzero_out);
    register_operator(m, "nonzero_static", &nonzero_static);
    register_operator(m, "nonzero_static.out", &nonzero_static_out);
}

} // namespace

} // namespace rvk
