#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/product_float16.h>
#include <rekindle/kernels/families/product_float64.h>
#include <rekindle/kernels/families/product_int64.h>
#include <rekindle/kernels/families/product_units.h>
#include <rekindle/products/limits.h>
#include <rekindle/products/loading.h>
#include <rekindle/products/multiply.h>
#include <rekindle/runtime/error.h>

#include <algorithm>
#include <array>
#include <limits>

namespace rekindle::products {

namespace {

using kernels::ceil_div;

/// Converts a size or stride to the 32 bits of a kernel parameter. Throws runtime::Unsupported if it does not
/// fit.
std::uint32_t parameter(std::int64_t value) {
    if (value < 0 || value > std::numeric_limits<std::int32_t>::max())
        throw runtime::Unsupported("matrices with a size or stride of " + std::to_string(value));
    return static_cast<std::uint32_t>(value);
}

struct Kernels {
    const kernels::Kernel &vector_rows, &vector_columns, &combine;
};
Kernels kernels_for_float16() {
    return {kernels::product_vector_rows_float16.kernel, kernels::product_vector_columns_float16.kernel,
            kernels::product_combine.kernel};
}
Kernels kernels_of(ElementType type) {
    switch (type) {
    case ElementType::float64:
        return {kernels::product_vector_rows_float64.kernel, kernels::product_vector_columns_float64.kernel,
                kernels::product_combine_float64.kernel};
    case ElementType::int64:
        return {kernels::product_vector_rows_int64.kernel, kernels::product_vector_columns_int64.kernel,
                kernels::product_combine_int64.kernel};
    default:
        return {kernels::product_vector_rows.kernel, kernels::product_vector_columns.kernel,
                kernels::product_combine.kernel};
    }
}

/// Sets the parameters that both families of kernels share. P: ProductParameters or ProductUnitsParameters.
template <class P>
P parameters_of(const Product& product) {
    P p{};
    const Matrix& c = product.c;
    p.c = c.address;
    p.c_batch = static_cast<std::uint64_t>(c.batch_stride);
    p.alpha = product.alpha;
    p.beta = product.beta;
    p.m = parameter(c.rows);
    p.n = parameter(c.columns);
    p.c_row = parameter(c.row_stride);
    p.c_column = parameter(c.column_stride);
    if (const std::optional<Matrix>& d = product.d) {
        p.d = d->address;
        p.d_batch = static_cast<std::uint64_t>(d->batch_stride);
        p.d_row = parameter(d->row_stride);
        p.d_column = parameter(d->column_stride);
    }
    return p;
}

/// The part of a product that starts at this row, column and matrix of the batch.
Product panel_of(const Product& whole, std::int64_t row, std::int64_t rows, std::int64_t column,
                 std::int64_t columns, std::int64_t batch) {
    const auto moved = [&](Matrix m, std::int64_t by_row, std::int64_t by_column, std::int64_t bytes) {
        m.address += static_cast<std::uint64_t>(
            (by_row * m.row_stride + by_column * m.column_stride + batch * m.batch_stride) * bytes);
        return m;
    };
    const std::int64_t result_bytes =
        whole.result_dtype == whole.dtype ? whole.element_bytes : sum_bytes(whole.type);
    Product part = whole;
    part.a = moved(whole.a, row, 0, whole.element_bytes);
    part.b = moved(whole.b, 0, column, whole.element_bytes);
    part.c = moved(whole.c, row, column, result_bytes);
    if (whole.d)
        part.d = moved(*whole.d, row, column, result_bytes);
    part.a.rows = part.c.rows = rows;
    part.b.columns = part.c.columns = columns;
    return part;
}

/// Splits the product so that each part respects the limits on workgroups; launch_panel(part, batch) launches
/// one.
template <class F>
void for_each_panel(const Product& product, std::int64_t most_rows, std::int64_t most_columns,
                    F&& launch_panel) {
    for (std::int64_t at = 0; at < product.batch; at += most_groups)
        for (std::int64_t row = 0; row < product.c.rows; row += most_rows)
            for (std::int64_t column = 0; column < product.c.columns; column += most_columns)
                launch_panel(panel_of(product, row, std::min(most_rows, product.c.rows - row), column,
                                      std::min(most_columns, product.c.columns - column), at),
                             std::min(most_groups, product.batch - at));
}

template <class P>
void queue_one(const Product& product, std::int64_t matrices, std::int64_t k_part,
               const kernels::Kernel& kernel, runtime::Groups groups,
               std::span<const kernels::ConstantValue> constants, const QueueLaunch& queue) {
    P p = parameters_of<P>(product);
    p.a = product.a.address;
    p.b = product.b.address;
    p.a_batch = static_cast<std::uint64_t>(product.a.batch_stride);
    p.b_batch = static_cast<std::uint64_t>(product.b.batch_stride);
    p.k = parameter(product.a.columns);
    p.k_part = parameter(k_part);
    p.a_row = parameter(product.a.row_stride);
    p.a_step = parameter(product.a.column_stride);
    p.b_step = parameter(product.b.row_stride);
    p.b_column = parameter(product.b.column_stride);
    groups.z = static_cast<std::uint32_t>(matrices);
    queue({kernel, groups, std::as_bytes(std::span(&p, 1)), constants});
}

/// How a kernel loads A and B: values of its constants a_sharing and b_sharing.
struct Sharing {
    std::uint32_t a, b;
};
WideAccess quad_access(const Product& product) {
    return {4, 4 * static_cast<std::uint64_t>(product.element_bytes)};
}
Sharing sharing_of_factors(const Product& product, const WideAccess& wide) {
    const Matrix &a = product.a, &b = product.b;
    const auto batch_stride = [&](const Matrix& m) { return product.batch == 1 ? 0 : m.batch_stride; };
    return {
        sharing_of({a.address, a.rows, a.row_stride, a.columns, a.column_stride, batch_stride(a)}, wide),
        sharing_of({b.address, b.columns, b.column_stride, a.columns, b.row_stride, batch_stride(b)}, wide)};
}

/// The same for a matrix and a vector.
Sharing sharing_of_vector(const Product& product, const VectorPlan& plan) {
    constexpr std::uint32_t quads = kernels::value::sharing_quads_along_k,
                            numbers = kernels::value::sharing_lanes_along_k;
    if (plan.rows_in_quads)
        return {kernels::value::sharing_quads_along_outer, numbers};
    const Sharing sharing = sharing_of_factors(product, quad_access(product));
    return sharing.a == quads && sharing.b == quads ? sharing : Sharing{numbers, numbers};
}

/// The constants that depend on the operands. C: ProductConstants or ProductUnitsConstants.
template <class C>
void set_constants(C& constants, const Product& part, const Plan& plan) {
    const Matrix& c = part.c;
    const Tile& tile = plan.tile;
    const std::uint64_t result_bytes = part.result_dtype == part.dtype && plan.parts == 1
                                           ? static_cast<std::uint64_t>(part.element_bytes)
                                           : sum_bytes(part.type);
    const Sharing sharing = sharing_of_factors(part, tile.on_units ? unit_access : quad_access(part));
    constants.dtype = tile.on_units ? part.result_dtype : part.dtype;
    constants.edges = edges_of(c.rows, c.columns, part.a.columns, tile.rows, tile.columns, tile.depth);
    constants.a_sharing = sharing.a;
    constants.b_sharing = sharing.b;
    constants.in_parts = plan.parts > 1 ? 1 : 0;
    constants.adds = part.d.has_value() ? 1 : 0;
    const ResultLayout result{c.address, c.rows, c.columns, c.row_stride, c.column_stride, c.batch_stride};
    constants.stores_quads = result.in_groups(4, 4 * result_bytes) ? 1 : 0;
    if constexpr (requires { constants.stores_eights; })
        constants.stores_eights = result_bytes == 2 && result.in_groups(8, 16) ? 1 : 0;
}

/// Divides shared memory between numbers and quads, as a wide tile does: it keeps a factor in quads if
/// adjacent rows of A, or columns of B, are adjacent in memory.
void divide_shared_memory(kernels::ProductConstants& constants, const Tile& tile) {
    const std::uint32_t a = 2 * tile.depth * (tile.rows + 4), b = 2 * tile.depth * (tile.columns + 4);
    const std::uint32_t in_quads =
        (constants.a_sharing == kernels::value::sharing_quads_along_outer ? a : 0) +
        (constants.b_sharing == kernels::value::sharing_quads_along_outer ? b : 0);
    constants.shared_numbers = std::max(a + b - in_quads, 1u);
    constants.shared_quads = std::max(in_quads / 4, 1u);
}

void queue_panel(const Product& part, std::int64_t batch, const Plan& plan, const QueueLaunch& queue) {
    const Tile& tile = plan.tile;
    const runtime::Groups groups{
        static_cast<std::uint32_t>(ceil_div<std::int64_t>(part.c.columns, tile.columns)),
        static_cast<std::uint32_t>(ceil_div<std::int64_t>(part.c.rows, tile.rows))};
    if (tile.on_units) {
        kernels::ProductUnitsConstants constants{.shared_numbers = tile.shared_numbers,
                                                 .subgroup_size = tile.subgroup_size,
                                                 .idle_subgroups = tile.idle_subgroups,
                                                 .one_slice = plan.is_one_slice() ? 1u : 0u,
                                                 .shared_eights = tile.shared_eights};
        set_constants(constants, part, plan);
        queue_one<kernels::ProductUnitsParameters>(part, batch * plan.parts, plan.k_part, *tile.kernel,
                                                   groups, constants.list(), queue);
    } else {
        kernels::ProductConstants constants{.dtype = part.dtype,
                                            .half_sums =
                                                part.half_sums && tile.multiplies_float16() ? 1u : 0u,
                                            .shared_numbers = tile.shared_numbers};
        set_constants(constants, part, plan);
        if (tile.wide)
            divide_shared_memory(constants, tile);
        queue_one<kernels::ProductParameters>(part, batch * plan.parts, plan.k_part, *tile.kernel, groups,
                                              constants.list(), queue);
    }
}

/// Workgroups for `count` items, in rows of groups_per_row.
runtime::Groups linear_groups(std::int64_t count, std::int64_t per_group) {
    const std::int64_t groups = ceil_div(count, per_group);
    if (groups <= groups_per_row)
        return {static_cast<std::uint32_t>(groups), 1, 1};
    return {static_cast<std::uint32_t>(groups_per_row),
            static_cast<std::uint32_t>(ceil_div(groups, groups_per_row)), 1};
}

} // namespace

ProductShape Product::shape() const {
    const Sharing sharing = sharing_of_factors(*this, unit_access);
    return {type, c.rows, c.columns, a.columns, batch, loads_aligned(sharing.a), loads_aligned(sharing.b)};
}

void multiply(const Product& product, const Plan& plan, const QueueLaunch& queue) {
    const auto queue_part = [&](const Product& part, std::int64_t batch) {
        queue_panel(part, batch, plan, queue);
    };
    if (plan.parts > 1)
        queue_part(product, product.batch);
    else
        for_each_panel(product, most_groups * plan.tile.rows, most_groups * plan.tile.columns, queue_part);
}

VectorPlan vector_plan(const DeviceParameters& device, const Product& product) {
    const Matrix& a = product.a;
    const bool contiguous = a.column_stride <= a.row_stride || a.rows == 1;
    const bool rows_in_quads =
        sharing_of_factors(product, quad_access(product)).a == kernels::value::sharing_quads_along_outer;
    VectorPlan plan = vector_plan(device, a.rows, a.columns, product.batch, contiguous, rows_in_quads);
    const Kernels direct = kernels_for_float16();
    plan.in_float16 = product.type == ElementType::float16 &&
                      device.usable.contains(direct.vector_rows.needs) &&
                      device.usable.contains(direct.vector_columns.needs);
    return plan;
}

void multiply_vector(const Product& product, const VectorPlan& plan, const QueueLaunch& queue) {
    const Kernels family = plan.in_float16 ? kernels_for_float16() : kernels_of(product.type);
    const auto queue_part = [&](const Product& part, std::int64_t batch) {
        const Sharing sharing = sharing_of_vector(part, plan);
        const kernels::ProductConstants constants{.dtype = part.dtype,
                                                  .shared_numbers = 1,
                                                  .a_sharing = sharing.a,
                                                  .b_sharing = sharing.b,
                                                  .in_parts = plan.parts > 1 ? 1u : 0u,
                                                  .adds = part.d.has_value() ? 1u : 0u,
                                                  .lane_numbers = plan.rows_in_quads ? 1024u : 256u};
        queue_one<kernels::ProductParameters>(part, batch * plan.parts, plan.k_part,
                                              plan.lanes > 8 ? family.vector_rows : family.vector_columns,
                                              linear_groups(part.c.rows, plan.rows), constants.list(), queue);
    };
    if (plan.parts > 1)
        queue_part(product, product.batch);
    else
        for_each_panel(product, product.c.rows, 1, queue_part);
}

void combine(const Product& product, const Sums& sums, const QueueLaunch& queue) {
    auto p = parameters_of<kernels::ProductParameters>(product);
    p.a = sums.address;
    p.a_batch = static_cast<std::uint64_t>(sums.batch_stride);
    p.b_batch = static_cast<std::uint64_t>(sums.part_stride);
    p.a_row = parameter(sums.row_stride);
    p.k = p.k_part = parameter(sums.parts);
    runtime::Groups groups = linear_groups(product.c.rows * product.c.columns, 256);
    groups.z = static_cast<std::uint32_t>(product.batch);
    const kernels::ProductConstants constants{
        .dtype = product.result_dtype, .shared_numbers = 1, .adds = product.d.has_value() ? 1u : 0u};
    queue({kernels_of(product.type).combine, groups, std::as_bytes(std::span(&p, 1)), constants.list()});
}

Product product_of_sums(const Product& product, std::uint64_t address) {
    const std::int64_t m = product.c.rows, n = product.c.columns;
    Product to_sums = product;
    to_sums.c = {address, m, n, n, 1, m * n};
    to_sums.d.reset();
    return to_sums;
}

Sums sums_of(const Product& product, std::int64_t parts, std::uint64_t address) {
    const std::int64_t n = product.c.columns, matrix = product.c.rows * n;
    return {address, parts, parts * matrix, matrix, n};
}

void queue_product(runtime::Device& device, runtime::Stream& stream, const Product& product, const Plan& plan,
                   const ProductAccesses& accesses) {
    // Keeps submits short even on a slow device.
    constexpr double slow_rate = 1e11;
    const double seconds = static_cast<double>(product.batch * product.c.rows) *
                           static_cast<double>(product.c.columns * product.a.columns) / slow_rate;
    const auto queue_on = [&](std::span<const runtime::Access> used, double expected) {
        return [&stream, used, expected](const Launch& launch) {
            stream.launch(launch.kernel, launch.groups, launch.parameters, used, launch.constants, expected);
        };
    };
    runtime::Access result = accesses.c;
    result.writes = true;
    if (plan.parts == 1) {
        const std::array used{accesses.a, accesses.b, result, accesses.d.value_or(runtime::Access{})};
        multiply(product, plan, queue_on(std::span(used).first(accesses.d ? 4 : 3), seconds));
        return;
    }
    const auto sums =
        static_cast<std::uint64_t>(product.batch * plan.parts * product.c.rows * product.c.columns);
    const runtime::Buffer scratch =
        device.allocator().allocate(sums * sum_bytes(product.type), runtime::MemoryKind::device, &stream);
    const std::uint64_t address = scratch.pointer().address;
    const std::array multiplied{accesses.a, accesses.b, runtime::writes(scratch)};
    multiply(product_of_sums(product, address), plan, queue_on(multiplied, seconds));
    const std::array combined{runtime::reads(scratch), result, accesses.d.value_or(runtime::Access{})};
    combine(product, sums_of(product, plan.parts, address),
            queue_on(std::span(combined).first(accesses.d ? 3 : 2), 0));
}

} // namespace rekindle::products
