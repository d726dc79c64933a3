/// Finds distinct elements and rows by sorting them and comparing neighbors. Only the number of results is
/// copied to the host.

#include "../../dispatch/structured.h"
#include "counting.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sort.h>
#include <algorithm>

namespace rvk {

namespace {

using Unique = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

at::Tensor no_integers(const at::Tensor& like) {
    return at::empty({0}, like.options().dtype(at::kLong));
}

/// Returns for each row whether it differs from the previous one. The tensor has at least one row.
at::Tensor begins_run(const at::Tensor& rows) {
    const std::int64_t count = rows.size(0);
    at::Tensor differs = rows.narrow(0, 1, count - 1).ne(rows.narrow(0, 0, count - 1));
    if (differs.dim() > 1)
        differs = differs.flatten(1).any(1);
    return at::cat({at::ones({1}, differs.options()), differs});
}

/// Runs of equal consecutive rows. The tensor has at least one row.
struct Runs {
    at::Tensor begins; ///< bool: whether a row starts a run
    at::Tensor number; ///< int64: the index of each row's run

    explicit Runs(const at::Tensor& rows) : begins(begins_run(rows)), number(begins.cumsum(0).sub_(1)) {}
};

void require_sortable(const at::Tensor& self) {
    TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "distinct elements of ", self.scalar_type());
}

Unique unique_elements(const at::Tensor& self, bool with_inverse, bool with_counts) {
    require_sortable(self);
    if (self.numel() == 0)
        return {at::empty({0}, self.options()),
                with_inverse ? at::empty(self.sizes(), self.options().dtype(at::kLong)) : no_integers(self),
                no_integers(self)};
    const auto [sorted, order] =
        at::sort(self.reshape({-1}), /*stable=*/true, /*dim=*/0, /*descending=*/false);
    const Runs runs(sorted);
    const at::Tensor values = sorted.masked_select(runs.begins);
    at::Tensor inverse = no_integers(self), counts = no_integers(self);
    if (with_inverse)
        inverse =
            at::empty(order.sizes(), order.options()).scatter_(0, order, runs.number).view(self.sizes());
    if (with_counts)
        counts = counts_of(runs.number, values.numel());
    return {values, inverse, counts};
}

Unique unique2(const at::Tensor& self, bool, bool with_inverse, bool with_counts) {
    return unique_elements(self, with_inverse, with_counts);
}
std::tuple<at::Tensor, at::Tensor> unique(const at::Tensor& self, bool, bool with_inverse) {
    const auto [values, inverse, counts] = unique_elements(self, with_inverse, false);
    return {values, inverse};
}

std::int64_t sliced_dimension(const at::Tensor& self, std::int64_t dim) {
    require_sortable(self);
    TORCH_CHECK_NOT_IMPLEMENTED(self.dim() > 0, "distinct slices of a number");
    return c10::maybe_wrap_dim(dim, self.dim());
}
/// Returns the result if the dimension is empty; nothing otherwise. Throws PyTorch's errors if another
/// dimension is empty.
std::optional<Unique> empty_result(const at::Tensor& self, std::int64_t dim) {
    const auto empty_dimensions = std::ranges::count(self.sizes(), std::int64_t{0});
    if (self.size(dim) == 0) {
        TORCH_CHECK(empty_dimensions == 1,
                    "Number of zero sized dimensions is more than one, so unique cannot be applied ");
        return Unique(at::empty(self.sizes(), self.options()), no_integers(self), no_integers(self));
    }
    TORCH_CHECK(empty_dimensions == 0,
                "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
    return std::nullopt;
}
at::Tensor rows_along(const at::Tensor& self, std::int64_t dim) {
    return self.moveaxis(dim, 0).contiguous().view({self.size(dim), -1});
}
/// Converts rows back into slices of `self` along the dimension.
at::Tensor slices_of(const at::Tensor& rows, const at::Tensor& self, std::int64_t dim) {
    std::vector<std::int64_t> sizes = self.moveaxis(dim, 0).sizes().vec();
    sizes[0] = rows.size(0);
    return rows.view(sizes).moveaxis(0, dim);
}

/// Ranks the elements of each column from 0; equal elements share a rank.
at::Tensor ranks_of(const at::Tensor& columns) {
    const auto [sorted, order] = at::sort(columns, /*stable=*/true, /*dim=*/0, /*descending=*/false);
    const std::int64_t count = columns.size(0);
    const at::Tensor differs = sorted.narrow(0, 1, count - 1).ne(sorted.narrow(0, 0, count - 1));
    const at::Tensor ranks = at::constant_pad_nd(differs.cumsum(0), {0, 0, 1, 0});
    return at::empty(order.sizes(), order.options()).scatter_(0, order, ranks);
}
/// Ranks rows in lexicographic order: ranks the elements of each column, then combines the ranks of two
/// adjacent columns at a time until one column is left.
at::Tensor ranks_of_rows(const at::Tensor& rows) {
    at::Tensor ranks = ranks_of(rows);
    while (ranks.size(1) > 1) {
        if (ranks.size(1) % 2 != 0)
            ranks = at::constant_pad_nd(ranks, {0, 1});
        const at::Tensor pairs = ranks.view({ranks.size(0), -1, 2});
        ranks = ranks_of(pairs.select(2, 0).mul(ranks.size(0)).add_(pairs.select(2, 1)));
    }
    return ranks.squeeze(1);
}

Unique distinct_slices(const at::Tensor& self, std::int64_t dim, bool, bool, bool) {
    dim = sliced_dimension(self, dim);
    if (auto result = empty_result(self, dim))
        return *std::move(result);
    const at::Tensor rows = rows_along(self, dim);
    const auto [sorted, order] =
        at::sort(ranks_of_rows(rows), /*stable=*/true, /*dim=*/0, /*descending=*/false);
    const Runs runs(sorted);
    const at::Tensor kept = rows.index_select(0, order.masked_select(runs.begins));
    const at::Tensor inverse = at::empty(order.sizes(), order.options()).scatter_(0, order, runs.number);
    return {slices_of(kept, self, dim), inverse, counts_of(runs.number, kept.size(0))};
}

Unique distinct_neighbors_along(const at::Tensor& self, std::int64_t dim, bool, bool) {
    dim = sliced_dimension(self, dim);
    if (auto result = empty_result(self, dim))
        return *std::move(result);
    const at::Tensor rows = rows_along(self, dim);
    const Runs runs(rows);
    const at::Tensor kept = rows.index_select(0, runs.begins.nonzero().squeeze(1));
    return {slices_of(kept, self, dim), runs.number, counts_of(runs.number, kept.size(0))};
}

Unique distinct_neighbors(const at::Tensor& self, bool with_inverse, bool with_counts,
                          std::optional<std::int64_t> dim) {
    if (dim)
        return distinct_neighbors_along(self, *dim, with_inverse, with_counts);
    require_sortable(self);
    if (self.numel() == 0)
        return {at::empty({0}, self.options()),
                with_inverse ? at::empty(self.sizes(), self.options().dtype(at::kLong)) : no_integers(self),
                no_integers(self)};
    const at::Tensor flat = self.reshape({-1});
    const Runs runs(flat);
    const at::Tensor values = flat.masked_select(runs.begins);
    return {values, with_inverse ? runs.number.view(self.sizes()) : no_integers(self),
            with_counts ? counts_of(runs.number, values.numel()) : no_integers(self)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "_unique", &unique);
    register_operator(m, "_unique2", &unique2);
    register_operator(m, "unique_dim", &distinct_slices);
    register_operator(m, "unique_consecutive", &distinct_neighbors);
    register_operator(m, "unique_dim_consecutive", &distinct_neighbors_along);
}

} // namespace

} // namespace rvk
