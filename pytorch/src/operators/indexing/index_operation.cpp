#include "index_operation.h"

#include "../../device/index_report.h"
#include "grouping.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/accumulate.h>
#include <rekindle/kernels/families/accumulate_float64.h>
#include <rekindle/kernels/families/indexing.h>

#include <ATen/MemoryOverlap.h>
#include <ATen/TensorUtils.h>
#include <ATen/WrapDimUtils.h>
#include <algorithm>
#include <limits>

namespace rvk {

namespace {

constexpr std::size_t first_selector_word = 32, selector_words = 12;
constexpr std::int64_t piece = 256, block = 1024 * piece; ///< as in accumulate.slang
constexpr std::int64_t maximum_items = 0xff000000;        ///< whole workgroups, numbered in 32 bits

std::int64_t stride_of(const at::Tensor& tensor, std::int64_t dim) {
    return tensor.dim() == 0 ? 0 : tensor.stride(dim) * static_cast<std::int64_t>(tensor.element_size());
}
std::int64_t size_of(const at::Tensor& tensor, std::int64_t dim) {
    return tensor.dim() == 0 ? 1 : tensor.size(dim);
}
bool continues(const IndexOperation::Dimension& slow, const IndexOperation::Dimension& fast) {
    for (std::size_t k = 0; k < IndexOperation::maximum_selectors; ++k)
        if (slow.index_strides[k] != fast.index_strides[k] * fast.size)
            return false;
    return slow.target_stride == fast.target_stride * fast.size &&
           slow.value_stride == fast.value_stride * fast.size &&
           slow.key_stride == fast.key_stride * fast.size;
}

} // namespace

void warn_about_expanded(const at::Tensor& self, const char* operation, const char* also) {
    if (at::has_internal_overlap(self) == at::MemOverlap::Yes) {
        TORCH_WARN("Use of ", operation,
                   " on expanded tensors is deprecated. Please clone() the tensor before performing this "
                   "operation. This "
                   "also applies to advanced indexing e.g. ",
                   also);
    }
}

IndexedOperand::IndexedOperand(const at::TensorBase& tensor)
    : address(rvk::address(tensor)), access(writes(tensor)) {}

std::int64_t IndexOperation::count(const Dimensions& dimensions) {
    std::int64_t product = 1;
    for (const Dimension& dimension : dimensions)
        product *= dimension.size;
    return product;
}
void IndexOperation::add_outer(const Dimension& dimension) {
    if (dimension.size != 1)
        outer_.push_back(dimension);
}
void IndexOperation::add_inner(const Dimension& dimension) {
    if (dimension.size != 1)
        inner_.push_back(dimension);
}
void IndexOperation::add_selector(const at::TensorBase& index, std::int64_t size, std::int64_t stride,
                                  std::int64_t key_stride) {
    TORCH_CHECK_INDEX(index.scalar_type() == at::kLong || index.scalar_type() == at::kInt,
                      "tensors used as indices must be int32 or int64");
    TORCH_CHECK_NOT_IMPLEMENTED(selectors_.size() < maximum_selectors, "more than 8 index tensors");
    wide_ = index.scalar_type() == at::kLong;
    selectors_.push_back({raw_address(index), reads(index), size, stride, key_stride});
}

IndexOperation IndexOperation::along(const at::Tensor& target, std::int64_t dim, const at::Tensor& index,
                                     const at::Tensor& values) {
    IndexOperation operation(target.device(), static_cast<std::int64_t>(target.element_size()));
    dim = at::maybe_wrap_dim(dim, target.dim());
    Dimension items{index.numel(), 0, stride_of(values, dim)};
    items.index_strides[0] = stride_of(index, 0);
    operation.add_outer(items);
    for (std::int64_t d = 0; d < target.dim(); ++d)
        if (d != dim)
            operation.add_inner({target.size(d), stride_of(target, d), stride_of(values, d)});
    operation.add_selector(index, size_of(target, dim), stride_of(target, dim), 1);
    operation.set_keys(size_of(target, dim));
    return operation;
}

IndexOperation IndexOperation::elements(const at::Tensor& target, std::int64_t dim, const at::Tensor& index,
                                        const at::Tensor& values) {
    IndexOperation operation(target.device(), static_cast<std::int64_t>(target.element_size()));
    dim = at::maybe_wrap_dim(dim, target.dim());
    c10::SmallVector<std::int64_t, 8> keys(static_cast<std::size_t>(target.dim()), 1);
    std::int64_t all = 1;
    for (std::int64_t d = target.dim() - 1; d >= 0; --d) {
        keys[static_cast<std::size_t>(d)] = all;
        all *= target.size(d);
    }
    for (std::int64_t d = 0; d < index.dim(); ++d) {
        const bool indexed = d == dim || target.dim() == 0;
        Dimension dimension{index.size(d), indexed ? 0 : stride_of(target, d), stride_of(values, d),
                            indexed ? 0 : keys[static_cast<std::size_t>(d)]};
        dimension.index_strides[0] = stride_of(index, d);
        operation.add_outer(dimension);
    }
    operation.add_selector(index, size_of(target, dim), stride_of(target, dim),
                           target.dim() == 0 ? 1 : keys[static_cast<std::size_t>(dim)]);
    operation.set_keys(all);
    return operation;
}

IndexOperation IndexOperation::flat(const at::Tensor& target, const at::Tensor& index,
                                    const at::Tensor& values) {
    const auto bytes = static_cast<std::int64_t>(target.element_size());
    IndexOperation operation(target.device(), bytes);
    for (std::int64_t d = 0; d < index.dim(); ++d) {
        Dimension dimension{index.size(d), 0, stride_of(values, d)};
        dimension.index_strides[0] = stride_of(index, d);
        operation.add_outer(dimension);
    }
    operation.wrap();
    operation.add_selector(index, target.numel(), bytes, 1);
    operation.set_keys(target.numel());
    return operation;
}

IndexOperation IndexOperation::of_iterator(const at::TensorIteratorBase& iterator,
                                           at::IntArrayRef indexed_sizes, at::IntArrayRef indexed_strides,
                                           bool reads_target) {
    const int target = reads_target ? 1 : 0, values = reads_target ? 0 : 1;
    IndexOperation operation(iterator.device(target),
                             static_cast<std::int64_t>(iterator.element_size(target)));
    TORCH_CHECK_NOT_IMPLEMENTED(indexed_sizes.size() <= maximum_selectors, "more than 8 index tensors");
    const auto operand = [](std::size_t i) { return static_cast<int>(i); };
    for (int d = iterator.ndim() - 1; d >= 0; --d) {
        const auto along = static_cast<std::size_t>(d);
        Dimension dimension{iterator.shape()[along], iterator.strides(target)[along],
                            iterator.strides(values)[along]};
        bool indexed = false;
        for (std::size_t k = 0; k < indexed_sizes.size(); ++k) {
            dimension.index_strides[k] = iterator.strides(operand(2 + k))[along];
            indexed |= dimension.index_strides[k] != 0;
        }
        // Along a dimension to which all indices were expanded, their strides are 0, too. It is an indexed
        // dimension if the target's stride is 0 as well.
        if (indexed || (dimension.target_stride == 0 && dimension.size != 1))
            operation.add_outer(dimension);
        else
            operation.add_inner(dimension);
    }
    std::int64_t keys = 1;
    for (std::size_t k = indexed_sizes.size(); k-- > 0;) {
        operation.selectors_.insert(operation.selectors_.begin(),
                                    Selector{runtime::raw_address({address(iterator, operand(2 + k))}),
                                             reads(iterator, operand(2 + k)), indexed_sizes[k],
                                             indexed_strides[k], keys});
        keys *= indexed_sizes[k];
    }
    operation.wrap();
    operation.wide_ = true;
    operation.set_keys(keys);
    return operation;
}

/// Uses larger elements if inner rows are contiguous in both tensors and suitably aligned.
void IndexOperation::widen(std::uint64_t target, std::uint64_t values) {
    if (inner_.empty() || inner_[0].target_stride != element_bytes_ ||
        inner_[0].value_stride != element_bytes_)
        return;
    std::uint64_t common = runtime::raw_address({target}) | runtime::raw_address({values}) |
                           static_cast<std::uint64_t>(inner_[0].size * element_bytes_);
    const auto consider = [&](const Dimension& dimension) {
        common |= static_cast<std::uint64_t>(dimension.target_stride) |
                  static_cast<std::uint64_t>(dimension.value_stride);
    };
    std::for_each(inner_.begin() + 1, inner_.end(), consider);
    std::for_each(outer_.begin(), outer_.end(), consider);
    for (const Selector& selector : selectors_)
        common |= static_cast<std::uint64_t>(selector.stride);
    for (const std::int64_t wide : {16, 8, 4, 2}) {
        if (wide <= element_bytes_ || common % static_cast<std::uint64_t>(wide) != 0)
            continue;
        inner_[0].size = inner_[0].size * element_bytes_ / wide;
        inner_[0].target_stride = inner_[0].value_stride = element_bytes_ = wide;
        return;
    }
}

IndexOperation IndexOperation::simplified(bool may_widen, std::uint64_t target, std::uint64_t values) const {
    IndexOperation simple = *this;
    // Outer dimensions keep their order, which decides which value comes last; inner ones may be reordered.
    std::reverse(simple.outer_.begin(), simple.outer_.end());
    std::reverse(simple.inner_.begin(), simple.inner_.end());
    std::stable_sort(simple.inner_.begin(), simple.inner_.end(), [](const Dimension& a, const Dimension& b) {
        return std::max(a.target_stride, a.value_stride) < std::max(b.target_stride, b.value_stride);
    });
    for (Dimensions* const dimensions : {&simple.outer_, &simple.inner_}) {
        Dimensions joined;
        for (const Dimension& dimension : *dimensions) {
            if (!joined.empty() && continues(dimension, joined.back()))
                joined.back().size *= dimension.size;
            else
                joined.push_back(dimension);
        }
        *dimensions = std::move(joined);
    }
    if (may_widen)
        simple.widen(target, values);
    TORCH_CHECK_NOT_IMPLEMENTED(simple.outer_.size() + simple.inner_.size() <= maximum_dimensions,
                                "indexing with more than 8 dimensions");
    TORCH_CHECK_NOT_IMPLEMENTED(count(simple.outer_) * count(simple.inner_) <= maximum_items &&
                                    keys_ < maximum_items,
                                "indexing of more than 2^32 elements");
    return simple;
}

UploadedBlock IndexOperation::uploaded_layout() const {
    std::array<std::int64_t, first_selector_word + selector_words * maximum_selectors> words{};
    std::size_t d = 0;
    const auto put = [&](const Dimension& dimension) {
        words[d] = dimension.size;
        words[8 + d] = dimension.target_stride;
        words[16 + d] = dimension.value_stride;
        words[24 + d] = dimension.key_stride;
        for (std::size_t k = 0; k < selectors_.size(); ++k)
            words[first_selector_word + selector_words * k + 4 + d] = dimension.index_strides[k];
        ++d;
    };
    std::for_each(inner_.begin(), inner_.end(), put);
    std::for_each(outer_.begin(), outer_.end(), put);
    for (std::size_t k = 0; k < selectors_.size(); ++k) {
        const std::size_t first = first_selector_word + selector_words * k;
        words[first] = static_cast<std::int64_t>(selectors_[k].address);
        words[first + 1] = selectors_[k].size;
        words[first + 2] = selectors_[k].stride;
        words[first + 3] = selectors_[k].key_stride;
    }
    return {device_.index(), std::span<const std::int64_t>(
                                 words.data(), first_selector_word + selector_words * selectors_.size())};
}

template <class P>
ParametersWithBlock<P> IndexOperation::parameters(std::uint64_t target, std::uint64_t values) const {
    ParametersWithBlock<P> described{.block = uploaded_layout()};
    P& p = described.parameters;
    p.layout = described.block.address();
    p.target = target;
    p.values = values;
    p.report = index_report_address(device_.index());
    p.ignored = ignored_.value_or(std::numeric_limits<std::int64_t>::min());
    p.inner = static_cast<std::uint32_t>(count(inner_));
    p.dimensions = static_cast<std::uint32_t>(outer_.size() + inner_.size());
    p.inner_dimensions = static_cast<std::uint32_t>(inner_.size());
    return described;
}

kernels::IndexingConstants IndexOperation::constants(std::uint32_t operation) const {
    return {.bytes = static_cast<std::uint32_t>(element_bytes_),
            .operation = operation,
            .indexes = static_cast<std::uint32_t>(selectors_.size()),
            .wide_indexes = wide_ ? 1u : 0u,
            .wraps = wraps_ ? 1u : 0u};
}

c10::SmallVector<Access, 12> IndexOperation::accesses(std::initializer_list<Access> operands) const {
    c10::SmallVector<Access, 12> all(operands);
    for (const Selector& selector : selectors_)
        all.push_back(selector.access);
    return all;
}

ParametersWithBlock<kernels::IndexingParameters>
IndexOperation::describe(std::uint64_t target, std::uint64_t values, bool join) const {
    IndexOperation simple = join ? simplified(false, target, values) : *this;
    if (!join)
        std::reverse(simple.outer_.begin(), simple.outer_.end());
    TORCH_CHECK_NOT_IMPLEMENTED(simple.outer_.size() + simple.inner_.size() <= maximum_dimensions,
                                "masks of more than 8 dimensions");
    const std::int64_t items = count(simple.outer_) * count(simple.inner_);
    TORCH_CHECK_NOT_IMPLEMENTED(items <= maximum_items, "masks of more than 2^32 elements");
    auto described = simple.parameters<kernels::IndexingParameters>(target, values);
    described.parameters.count = static_cast<std::uint32_t>(items);
    return described;
}

void IndexOperation::gather(const IndexedOperand& target, const IndexedOperand& values) const {
    if (empty())
        return;
    const IndexOperation simple = simplified(true, target.address, values.address);
    auto [p, layout] = simple.parameters<kernels::IndexingParameters>(target.address, values.address);
    const std::int64_t items = count(simple.outer_) * count(simple.inner_);
    p.count = static_cast<std::uint32_t>(items);
    const Access read = target.access.as_read();
    launch(device_, kernels::index_gather, linear_groups(items, 256), p,
           simple.accesses({read, values.access}), simple.constants(0));
}

void IndexOperation::scatter(const IndexedOperand& target, const IndexedOperand& values, bool unique) const {
    if (empty())
        return;
    enum Stage : std::uint32_t { all, clear, mark, winner };
    const IndexOperation simple = simplified(true, target.address, values.address);
    auto [p, layout] = simple.parameters<kernels::IndexingParameters>(target.address, values.address);
    const std::int64_t ordinals = count(simple.outer_), items = ordinals * count(simple.inner_);
    const Access read = values.access.as_read();
    at::Tensor winners;
    if (!unique && ordinals > 1) {
        winners = make_words(keys_, device_);
        p.workspace = address(winners);
        const std::uint32_t inner = p.inner;
        p.count = static_cast<std::uint32_t>(ordinals);
        p.inner = 1; // the first inner item represents them all
        for (const Stage stage : {clear, mark})
            launch(device_, kernels::index_scatter, linear_groups(ordinals, 256), p,
                   simple.accesses({writes(winners)}), simple.constants(stage));
        p.inner = inner;
    }
    p.count = static_cast<std::uint32_t>(items);
    auto used = simple.accesses({target.access, read});
    if (winners.defined())
        used.push_back(reads(winners));
    launch(device_, kernels::index_scatter, linear_groups(items, 256), p, used,
           simple.constants(winners.defined() ? winner : all));
}

void IndexOperation::accumulate(const IndexedOperand& target, const IndexedOperand& values,
                                at::ScalarType dtype, IndexReduction reduction) const {
    if (empty())
        return;
    require_float64(dtype, device_);
    const bool float64 = dtype == at::kDouble;
    const IndexOperation simple = simplified(false, target.address, values.address);
    const std::int64_t ordinals = count(simple.outer_), inner = count(simple.inner_);

    SortedKeys unsorted{make_words(ordinals, device_), make_words(ordinals, device_)};
    auto [k, key_layout] = simple.parameters<kernels::IndexingParameters>(target.address, values.address);
    k.workspace = address(unsorted.keys);
    k.positions = address(unsorted.positions);
    k.count = static_cast<std::uint32_t>(ordinals);
    launch(device_, kernels::index_keys, linear_groups(ordinals, 256), k,
           simple.accesses({writes(unsorted.keys), writes(unsorted.positions)}), simple.constants(0));
    const SortedKeys sorted = sort_keys(unsorted, keys_);

    auto [p, layout] = simple.parameters<kernels::AccumulateParameters>(target.address, values.address);
    p.keys = address(sorted.keys);
    p.positions = address(sorted.positions);
    p.count = static_cast<std::uint32_t>(ordinals);
    const kernels::AccumulateConstants constants{
        .dtype = dtype_code(dtype),
        .reduction = static_cast<std::uint32_t>(reduction),
        .indexes = static_cast<std::uint32_t>(selectors_.size()),
        .wide_indexes = wide_ ? 1u : 0u,
        .wraps = wraps_ ? 1u : 0u,
    };
    const Access read = values.access.as_read();
    auto used = simple.accesses({target.access, read, reads(sorted.keys), reads(sorted.positions)});
    const auto run = [&](const auto& kernel, const auto& kernel_float64, std::int64_t items) {
        launch(device_, float64 ? kernel_float64 : kernel, linear_groups(items, 256), p, used, constants);
    };
    at::Tensor partials, of_blocks;
    // Allocates 64 bits each for `count` numbers per inner item.
    const auto make_numbers = [&](at::Tensor& numbers, std::uint64_t& place, std::int64_t count) {
        TORCH_CHECK_NOT_IMPLEMENTED(count * inner <= maximum_items, "indexing of more than 2^32 elements");
        numbers = make_words(count * inner * 2, device_);
        place = address(numbers);
        used.push_back(writes(numbers));
    };
    if (ordinals > piece) {
        const std::int64_t pieces = kernels::ceil_div(ordinals, piece);
        make_numbers(partials, p.partials, pieces);
        run(kernels::accumulate_pieces, kernels::accumulate_pieces_float64, pieces * inner);
    }
    if (ordinals > block) {
        const std::int64_t blocks = kernels::ceil_div(ordinals, block);
        make_numbers(of_blocks, p.blocks, blocks);
        run(kernels::accumulate_blocks, kernels::accumulate_blocks_float64, blocks * inner);
    }
    run(kernels::accumulate_runs, kernels::accumulate_runs_float64, ordinals * inner);
}

} // namespace rvk
