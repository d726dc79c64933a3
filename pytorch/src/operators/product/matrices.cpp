#include "matrices.h"

#include "../../dispatch/limits.h"
#include "product_plan.h"
#include "product_tuning.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/product_float64.h>
#include <rekindle/kernels/families/product_int64.h>
#include <rekindle/kernels/product_tiles.h>
#include <rekindle/runtime/matrix_units.h>

#include <ATen/ops/empty.h>
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace rvk {

namespace {

std::uint32_t narrow(std::int64_t value) {
    TORCH_CHECK_NOT_IMPLEMENTED(value >= 0 && value <= std::numeric_limits<std::int32_t>::max(),
                                "matrices with a size or stride of ", value);
    return static_cast<std::uint32_t>(value);
}

struct Kernels {
    const kernels::Kernel *vector_rows, *vector_columns, *combine;
};

Kernels kernels_of(NumberFamily family) {
    switch (family) {
    case NumberFamily::float64:
        return {&kernels::product_vector_rows_float64.kernel, &kernels::product_vector_columns_float64.kernel,
                &kernels::product_combine_float64.kernel};
    case NumberFamily::integer:
        return {&kernels::product_vector_rows_int64.kernel, &kernels::product_vector_columns_int64.kernel,
                &kernels::product_combine_int64.kernel};
    default:
        return {&kernels::product_vector_rows.kernel, &kernels::product_vector_columns.kernel,
                &kernels::product_combine.kernel};
    }
}

/// P: ProductParameters or ProductUnitsParameters.
template <class P>
P parameters_of(NumberFamily family, const Matrices& c, const at::Scalar& alpha,
                const std::optional<Matrices>& d, const at::Scalar& beta) {
    P p{};
    p.c = c.address;
    p.c_batch = static_cast<std::uint64_t>(c.batch_stride);
    p.alpha = number_bits(family, alpha);
    p.beta = number_bits(family, beta);
    p.m = narrow(c.rows);
    p.n = narrow(c.columns);
    p.c_row = narrow(c.row_stride);
    p.c_column = narrow(c.column_stride);
    if (d) {
        p.d = d->address;
        p.d_batch = static_cast<std::uint64_t>(d->batch_stride);
        p.d_row = narrow(d->row_stride);
        p.d_column = narrow(d->column_stride);
    }
    return p;
}

/// One product in the kernels' terms.
struct Product {
    const ProductSizes& sizes;
    NumberFamily family;
    Matrices a, b, c;
    at::Scalar alpha;
    std::optional<Matrices> d; ///< empty if nothing is added
    at::Scalar beta;

    std::int64_t k() const { return a.columns; }
    std::int64_t item_bytes() const { return static_cast<std::int64_t>(c10::elementSize(sizes.dtype)); }
};

/// The part of a product that starts at these rows, columns and matrices of the batch.
Product panel_of(const Product& whole, std::int64_t row, std::int64_t rows, std::int64_t column,
                 std::int64_t columns, std::int64_t batch) {
    const auto moved = [&](Matrices m, std::int64_t by_row, std::int64_t by_column) {
        m.address += static_cast<std::uint64_t>(
            (by_row * m.row_stride + by_column * m.column_stride + batch * m.batch_stride) *
            whole.item_bytes());
        return m;
    };
    Product part = whole;
    part.a = moved(whole.a, row, 0);
    part.b = moved(whole.b, 0, column);
    part.c = moved(whole.c, row, column);
    if (whole.d)
        part.d = moved(*whole.d, row, column);
    part.a.rows = part.c.rows = rows;
    part.b.columns = part.c.columns = columns;
    return part;
}

template <class P>
void launch_product(const Product& product, std::int64_t batch, std::int64_t parts, std::int64_t k_part,
                    const kernels::Kernel& kernel, Groups groups,
                    std::span<const kernels::ConstantValue> constants) {
    P p = parameters_of<P>(product.family, product.c, product.alpha, product.d, product.beta);
    p.a = product.a.address;
    p.b = product.b.address;
    p.a_batch = static_cast<std::uint64_t>(product.a.batch_stride);
    p.b_batch = static_cast<std::uint64_t>(product.b.batch_stride);
    p.k = narrow(product.k());
    p.k_part = narrow(k_part);
    p.a_row = narrow(product.a.row_stride);
    p.a_step = narrow(product.a.column_stride);
    p.b_step = narrow(product.b.row_stride);
    p.b_column = narrow(product.b.column_stride);
    groups.z = static_cast<std::uint32_t>(batch * parts);
    std::array accesses{product.a.access, product.b.access, product.c.access, Access{}};
    accesses[2].writes = true;
    if (product.d)
        accesses[3] = product.d->access;
    launch(product.sizes.device.index(), kernel, groups, std::as_bytes(std::span(&p, 1)),
           std::span(accesses).first(product.d ? 4 : 3), constants);
}

/// Splits the product so that each part respects the limits on workgroups; launch_panel(part, batch) launches
/// one.
template <class F>
void for_each_panel(const Product& product, std::int64_t most_rows, std::int64_t most_columns,
                    std::int64_t most_batch, F&& launch_panel) {
    for (std::int64_t at = 0; at < product.sizes.batch; at += most_batch)
        for (std::int64_t row = 0; row < product.c.rows; row += most_rows)
            for (std::int64_t column = 0; column < product.c.columns; column += most_columns)
                launch_panel(panel_of(product, row, std::min(most_rows, product.c.rows - row), column,
                                      std::min(most_columns, product.c.columns - column), at),
                             std::min(most_batch, product.sizes.batch - at));
}

/// Computes `parts` partial sums in scratch memory and adds them.
template <class F>
void multiply_in_parts(const Product& product, std::int64_t parts, F&& multiply) {
    Matrices c = product.c;
    const at::Tensor sums =
        at::empty({product.sizes.batch * parts, c.rows, c.columns},
                  at::TensorOptions().device(product.sizes.device).dtype(sum_type(product.family)));
    Product to_sums = product;
    to_sums.c = Matrices::of(sums);
    to_sums.c.rows = c.rows;
    to_sums.d.reset();
    multiply(to_sums);
    const std::int64_t matrix = c.rows * c.columns;
    combine_parts(product.sizes, {sums, parts, parts * matrix, matrix, c.columns}, c, product.alpha,
                  product.d, product.beta);
}

/// The constants of the families product and product_units that depend on the operands.
template <class C>
void set_constants(C& constants, const Product& part, const ProductPlan& tile) {
    const Matrices &a = part.a, &b = part.b, &c = part.c;
    const std::int64_t k = part.k(), width = tile.units ? 8 : 4;
    const std::uint64_t number_bytes = part.sizes.dtype == at::kFloat ? 4 : 2;
    const kernels::WideAccess wide{width, static_cast<std::uint64_t>(width) * number_bytes};
    const auto batch_stride = [&](const Matrices& m) { return part.sizes.batch == 1 ? 0 : m.batch_stride; };
    constants.dtype = dtype_code(part.sizes.dtype);
    constants.edges = kernels::edges_of(c.rows, c.columns, k, tile.rows, tile.columns, tile.depth);
    constants.a_sharing =
        kernels::sharing_of({a.address, c.rows, a.row_stride, k, a.column_stride, batch_stride(a)}, wide);
    constants.b_sharing =
        kernels::sharing_of({b.address, c.columns, b.column_stride, k, b.row_stride, batch_stride(b)}, wide);
    constants.in_parts = tile.parts > 1 ? 1u : 0u;
    constants.adds = part.d.has_value() ? 1u : 0u;
    const kernels::ResultLayout result{c.address,    c.rows,          c.columns,
                                       c.row_stride, c.column_stride, c.batch_stride};
    constants.stores_quads = result.in_quads(4 * number_bytes) && tile.parts == 1 ? 1u : 0u;
}

void multiply_by(const ProductPlan& plan, const Product& product) {
    const auto launch_panel = [&](const Product& part, std::int64_t batch) {
        const Groups tiles{static_cast<std::uint32_t>(kernels::ceil_div(part.c.columns, plan.columns)),
                           static_cast<std::uint32_t>(kernels::ceil_div(part.c.rows, plan.rows))};
        const auto launch_with = [&]<class P>(typename P::Constants constants) {
            set_constants(constants, part, plan);
            launch_product<P>(part, batch, plan.parts, plan.k_part, *plan.kernel, tiles, constants.list());
        };
        if (plan.units)
            launch_with.template operator()<kernels::ProductUnitsParameters>(plan.units->constants);
        else
            launch_with.template operator()<kernels::ProductParameters>(
                {.dtype = 0, .shared_numbers = plan.shared_numbers()});
    };
    if (plan.parts > 1)
        multiply_in_parts(product, plan.parts, [&](const Product& p) { launch_panel(p, p.sizes.batch); });
    else
        for_each_panel(product, most_groups * plan.rows, most_groups * plan.columns, most_groups,
                       launch_panel);
}

/// The layouts of the operands as a key for tuned plans, because they affect speed.
std::string layouts_of(const Product& product) {
    const auto order = [](const Matrices& m) {
        return m.column_stride == 1 ? "N" : m.row_stride == 1 ? "T" : "S";
    };
    return std::string(order(product.a)) + order(product.b) + order(product.c) + (product.d ? "+" : "");
}

void multiply_tiles(const Product& product) {
    const ProductShape shape{product.sizes.device, product.sizes.dtype, product.family,     product.c.rows,
                             product.c.columns,    product.k(),         product.sizes.batch};
    if (!tunes_products() || product.family != NumberFamily::float32 ||
        !is_one_launch(shape, default_plan(shape))) {
        multiply_by(default_plan(shape), product);
        return;
    }
    multiply_by(tuned_plan(shape, layouts_of(product),
                           [&](const ProductPlan& plan, const at::Tensor& c) {
                               Product elsewhere = product;
                               elsewhere.c = Matrices::of(c);
                               multiply_by(plan, elsewhere);
                           }),
                product);
}

/// The number of parts into which k is split if there are `groups` workgroups per part, so that they fill the
/// device.
std::int64_t parts_of(std::int64_t groups, std::int64_t k, std::int64_t shortest_part,
                      std::int64_t most_parts) {
    constexpr std::int64_t sufficient_groups = 256;
    return std::clamp<std::int64_t>(std::min(kernels::ceil_div(sufficient_groups, groups), k / shortest_part),
                                    1, most_parts);
}

/// B is one column. Many threads read each row of A if rows are contiguous in memory, otherwise few.
void multiply_vector(const Product& product) {
    const std::int64_t k = product.k();
    const bool along = product.a.column_stride <= product.a.row_stride || product.c.rows == 1;
    const bool many_lanes = along && k >= 64;
    const std::int64_t lanes = many_lanes ? 64 : 8, rows = 256 / lanes;
    const std::int64_t groups = kernels::ceil_div(product.c.rows, rows) * product.sizes.batch;
    const std::int64_t target_parts =
        std::max(product.sizes.batch <= 255 ? parts_of(groups, k, 64 * lanes, 256) : 1,
                 kernels::ceil_div(k, most_iterations * lanes));
    const std::int64_t k_part =
        std::max(kernels::ceil_div(kernels::ceil_div(k, target_parts), lanes) * lanes, lanes);
    const std::int64_t parts = std::max<std::int64_t>(kernels::ceil_div(k, k_part), 1);
    const Kernels family = kernels_of(product.family);
    const auto launch_panel = [&](const Product& part, std::int64_t batch) {
        const kernels::ProductConstants constants{
            .dtype = dtype_code(part.sizes.dtype),
            .shared_numbers = 256,
            .in_parts = parts > 1 ? 1u : 0u,
            .adds = part.d.has_value() ? 1u : 0u,
        };
        launch_product<kernels::ProductParameters>(
            part, batch, parts, k_part, many_lanes ? *family.vector_rows : *family.vector_columns,
            linear_groups(part.c.rows, static_cast<std::uint32_t>(rows)), constants.list());
    };
    if (parts > 1)
        multiply_in_parts(product, parts, [&](const Product& p) { launch_panel(p, p.sizes.batch); });
    else
        for_each_panel(product, product.c.rows, 1, most_groups, launch_panel);
}

} // namespace

Matrices Matrices::of(const at::Tensor& tensor) {
    const std::int64_t d = tensor.dim();
    TORCH_INTERNAL_ASSERT(d == 2 || d == 3);
    const auto sizes = tensor.sizes(), strides = tensor.strides();
    const auto i = static_cast<std::size_t>(d);
    return {rvk::address(tensor),
            sizes[i - 2],
            sizes[i - 1],
            sizes[i - 2] == 1 ? 0 : strides[i - 2],
            sizes[i - 1] == 1 ? 0 : strides[i - 1],
            d == 3 && sizes[0] > 1 ? strides[0] : 0,
            reads(tensor)};
}

Matrices Matrices::column_of(const at::Tensor& vector) {
    return {rvk::address(vector), vector.size(0), 1, vector.stride(0), 0, 0, reads(vector)};
}

Matrices Matrices::broadcast_of(const at::Tensor& tensor, std::int64_t rows, std::int64_t columns) {
    const std::int64_t d = tensor.dim();
    const auto stride = [&](std::int64_t from_end) {
        return d >= from_end && tensor.size(d - from_end) != 1 ? tensor.stride(d - from_end) : 0;
    };
    return {rvk::address(tensor), rows, columns, stride(2), stride(1), stride(3), reads(tensor)};
}

Matrices Matrices::transposed() const {
    Matrices other = *this;
    std::swap(other.rows, other.columns);
    std::swap(other.row_stride, other.column_stride);
    return other;
}

std::optional<runtime::UnitFactor> unit_factor(at::ScalarType dtype) {
    if (dtype == at::kHalf)
        return runtime::UnitFactor::float16;
    if (dtype == at::kBFloat16)
        return runtime::UnitFactor::bfloat16;
    return std::nullopt;
}

NumberFamily number_family(at::ScalarType dtype, c10::Device device) {
    switch (dtype) {
    case at::kFloat:
    case at::kHalf:
    case at::kBFloat16:
        return NumberFamily::float32;
    case at::kDouble:
        require_float64(dtype, device);
        return NumberFamily::float64;
    case at::kByte:
    case at::kChar:
    case at::kShort:
    case at::kInt:
    case at::kLong:
        return NumberFamily::integer;
    default:
        TORCH_CHECK_NOT_IMPLEMENTED(false, "products of ", dtype);
    }
}

std::int64_t sum_bytes(NumberFamily family) {
    return family == NumberFamily::float32 ? 4 : 8;
}

at::ScalarType sum_type(NumberFamily family) {
    switch (family) {
    case NumberFamily::float64:
        return at::kDouble;
    case NumberFamily::integer:
        return at::kLong;
    default:
        return at::kFloat;
    }
}

std::uint64_t number_bits(NumberFamily family, const at::Scalar& number) {
    switch (family) {
    case NumberFamily::float64:
        return std::bit_cast<std::uint64_t>(number.toDouble());
    case NumberFamily::integer:
        return static_cast<std::uint64_t>(number.toLong());
    default:
        return std::bit_cast<std::uint32_t>(number.toFloat());
    }
}

namespace {

/// Processes this many matrices of the batch at a time.
void multiply_batches(const ProductSizes& sizes, Matrices a, Matrices b, Matrices c, const at::Scalar& alpha,
                      std::optional<Matrices> d, const at::Scalar& beta, std::int64_t most_batch) {
    const auto bytes = static_cast<std::int64_t>(c10::elementSize(sizes.dtype));
    for (std::int64_t at = 0; at < sizes.batch; at += most_batch) {
        const std::int64_t batch = std::min(most_batch, sizes.batch - at);
        multiply_matrices({sizes.device, sizes.dtype, batch}, a, b, c, alpha, d, beta);
        for (Matrices* const m : {&a, &b, &c, d ? &*d : nullptr})
            if (m != nullptr)
                m->address += static_cast<std::uint64_t>(batch * m->batch_stride * bytes);
    }
}

} // namespace

void multiply_matrices(const ProductSizes& sizes, const Matrices& a, const Matrices& b, const Matrices& c,
                       const at::Scalar& alpha, const std::optional<Matrices>& d, const at::Scalar& beta) {
    const NumberFamily family = number_family(sizes.dtype, sizes.device);
    if (c.rows == 0 || c.columns == 0 || sizes.batch == 0)
        return;
    // Each part of a long sum counts as a separate matrix of the batch.
    constexpr std::int64_t long_sum = 100'000, most_parts = 256;
    const std::int64_t most_batch =
        std::max<std::int64_t>(most_groups / std::max(most_parts, a.columns / long_sum + 1), 1);
    if (sizes.batch > most_batch && a.columns > long_sum) {
        multiply_batches(sizes, a, b, c, alpha, d, beta, most_batch);
        return;
    }
    const bool adds = d && !beta.equal(0);
    const Product product{sizes, family, a, b, c, alpha, adds ? d : std::nullopt, beta};
    if (c.columns == 1)
        multiply_vector(product);
    else if (c.rows == 1)
        multiply_vector({sizes, family, b.transposed(), a.transposed(), c.transposed(), alpha,
                         adds ? std::optional(d->transposed()) : std::nullopt, beta});
    else
        multiply_tiles(product);
}

void combine_parts(const ProductSizes& sizes, const PartialSums& sums, const Matrices& c,
                   const at::Scalar& alpha, const std::optional<Matrices>& d, const at::Scalar& beta) {
    const NumberFamily family = number_family(sizes.dtype, sizes.device);
    auto p = parameters_of<kernels::ProductParameters>(family, c, alpha, d, beta);
    p.a = address(sums.memory);
    p.a_batch = static_cast<std::uint64_t>(sums.batch_stride);
    p.b_batch = static_cast<std::uint64_t>(sums.part_stride);
    p.a_row = narrow(sums.row_stride);
    p.k = p.k_part = narrow(sums.parts);
    Groups groups = linear_groups(c.rows * c.columns, 256);
    groups.z = static_cast<std::uint32_t>(sizes.batch);
    const kernels::ProductConstants constants{
        .dtype = dtype_code(sizes.dtype), .shared_numbers = 1, .adds = d.has_value() ? 1u : 0u};
    std::array accesses{reads(sums.memory), c.access, d ? d->access : Access{}};
    accesses[1].writes = true;
    launch(sizes.device.index(), *kernels_of(family).combine, groups, std::as_bytes(std::span(&p, 1)),
           std::span(accesses).first(d ? 3 : 2), constants);
}

} // namespace rvk
