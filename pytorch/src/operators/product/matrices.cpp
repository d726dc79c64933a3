#include "matrices.h"

#include "../../dispatch/limits.h"
#include "planner.h"

#include <rekindle/products/multiply.h>
#include <rekindle/products/tuner.h>

#include <ATen/ops/empty.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <limits>

namespace rvk {

namespace {

/// A product and the memory that it accesses.
struct Product {
    const ProductSizes& sizes;
    products::Product product;
    Access a, b, c;
    std::optional<Access> d;
};

void check_sizes(const Matrices& matrices) {
    for (const std::int64_t number :
         {matrices.rows, matrices.columns, matrices.row_stride, matrices.column_stride})
        TORCH_CHECK_NOT_IMPLEMENTED(number >= 0 && number <= std::numeric_limits<std::int32_t>::max(),
                                    "matrices with a size or stride of ", number);
}

products::Product product_of(const ProductSizes& sizes, const Matrices& c, const at::Scalar& alpha,
                             const std::optional<Matrices>& d, const at::Scalar& beta) {
    const NumberFamily family = number_family(sizes.dtype, sizes.device);
    check_sizes(c);
    if (d)
        check_sizes(*d);
    return {.type = element_type(sizes.dtype),
            .dtype = dtype_code(sizes.dtype),
            .result_dtype = dtype_code(sizes.dtype),
            .element_bytes = static_cast<std::int64_t>(c10::elementSize(sizes.dtype)),
            .batch = sizes.batch,
            .c = c.layout(),
            .d = d ? std::optional(d->layout()) : std::nullopt,
            .alpha = number_bits(family, alpha),
            .beta = number_bits(family, beta),
            .half_sums = may_sum_in_half()};
}

Access as_written(Access access) {
    access.writes = true;
    return access;
}

/// Returns a function that queues launches with these accesses.
template <std::size_t N>
auto queue_with(const ProductSizes& sizes, const std::array<Access, N>& accesses,
                const std::optional<Access>& added) {
    return [&sizes, accesses, added](const products::Launch& one) {
        std::array<Access, N + 1> all{};
        std::ranges::copy(accesses, all.begin());
        all[N] = added.value_or(Access{});
        launch(sizes.device.index(), one.kernel, one.groups, one.parameters,
               std::span(all).first(added ? N + 1 : N), one.constants);
    };
}

/// Splits k into `parts`. If there are several, their sums go to scratch memory and are then added.
/// multiply_with(product, queue) queues the multiplication.
template <class F>
void multiply_in_parts(const Product& work, std::int64_t parts, F&& multiply_with) {
    if (parts == 1) {
        multiply_with(work.product,
                      queue_with(work.sizes, std::array{work.a, work.b, as_written(work.c)}, work.d));
        return;
    }
    const products::Product& product = work.product;
    const at::Tensor sums =
        at::empty({product.batch * parts, product.c.rows, product.c.columns},
                  at::TensorOptions()
                      .device(work.sizes.device)
                      .dtype(sum_type(number_family(work.sizes.dtype, work.sizes.device))));
    multiply_with(products::product_of_sums(product, address(sums)),
                  queue_with(work.sizes, std::array{work.a, work.b, writes(sums)}, std::nullopt));
    products::combine(product, products::sums_of(product, parts, address(sums)),
                      queue_with(work.sizes, std::array{reads(sums), as_written(work.c)}, work.d));
}

void multiply_by(const products::Plan& plan, const Product& work) {
    multiply_in_parts(work, plan.parts,
                      [&](const products::Product& product, const products::QueueLaunch& queue) {
                          products::multiply(product, plan, queue);
                      });
}

/// The key of a tuned plan: the shape and a letter for each matrix's layout, because layouts affect speed.
/// The letter of a factor is lowercase if it is not aligned (ProductShape).
std::string key_of(const Product& work) {
    const products::Product& product = work.product;
    const products::ProductShape shape = product.shape();
    const auto order = [](const products::Matrix& m, bool aligned = true) {
        const char letter = m.column_stride == 1 ? 'N' : m.row_stride == 1 ? 'T' : 'S';
        return std::string(1, aligned ? letter : static_cast<char>(std::tolower(letter)));
    };
    const auto text = [](std::int64_t number) { return std::to_string(number); };
    return std::string(products::name(product.type)) + " product " + text(product.batch) + " x " +
           text(shape.m) + "x" + text(shape.n) + "x" + text(shape.k) + " " +
           order(product.a, shape.a_aligned) + order(product.b, shape.b_aligned) + order(product.c) +
           (product.d ? "+" : "");
}

/// Measures the plans with a separate tensor for the result, because D may be C.
products::Plan tuned_plan(const Product& work, const products::Plan& plan) {
    const products::ProductShape shape = work.product.shape();
    const std::vector<products::Plan> plans =
        products::plans_to_try(planner(work.sizes.device.index()).device(), shape, plan);
    at::Tensor result;
    const auto run = [&](std::size_t i) {
        Product elsewhere = work;
        elsewhere.product.c = Matrices::of(result).layout();
        elsewhere.c = writes(result);
        multiply_by(plans[i], elsewhere);
    };
    result = at::empty({shape.batch, shape.m, shape.n},
                       at::TensorOptions().device(work.sizes.device).dtype(work.sizes.dtype));
    if (!is_tuned({result}))
        return plan;
    return plans[tuned(
        {key_of(work), products::names_of(plans), run, {result}, sum_tolerance(work.sizes.dtype, shape.k)})];
}

void multiply_tiles(const Product& work) {
    const products::ProductShape shape = work.product.shape();
    products::Plan plan = planner(work.sizes.device.index()).plan(shape);
    if (products::tuning_is_on() && products::sum_bytes(shape.type) == 4 &&
        products::is_one_launch(shape, plan.tile))
        plan = tuned_plan(work, plan);
    multiply_by(plan, work);
}

/// B is one column.
void multiply_vector(const Product& work) {
    const products::VectorPlan plan =
        products::vector_plan(planner(work.sizes.device.index()).device(), work.product);
    multiply_in_parts(work, plan.parts,
                      [&](const products::Product& product, const products::QueueLaunch& queue) {
                          products::multiply_vector(product, plan, queue);
                      });
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

/// Processes at most `most_batch` matrices of the batch at a time.
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
    number_family(sizes.dtype, sizes.device); // throws for dtypes without kernels
    if (c.rows == 0 || c.columns == 0 || sizes.batch == 0)
        return;
    // Each part of a long sum counts as a matrix of the batch toward the limit on workgroups.
    constexpr std::int64_t long_sum = 100'000, most_parts = 256;
    const std::int64_t most_batch =
        std::max<std::int64_t>(most_groups / std::max(most_parts, a.columns / long_sum + 1), 1);
    if (sizes.batch > most_batch && a.columns > long_sum) {
        multiply_batches(sizes, a, b, c, alpha, d, beta, most_batch);
        return;
    }
    const bool adds = d && !beta.equal(0);
    const auto work_of = [&](const Matrices& left, const Matrices& right, const Matrices& result,
                             const std::optional<Matrices>& added) {
        Product work{sizes,         product_of(sizes, result, alpha, added, beta),
                     left.access,   right.access,
                     result.access, added ? std::optional(added->access) : std::nullopt};
        check_sizes(left);
        check_sizes(right);
        work.product.a = left.layout();
        work.product.b = right.layout();
        return work;
    };
    const std::optional<Matrices> added = adds ? d : std::nullopt;
    if (c.columns == 1)
        multiply_vector(work_of(a, b, c, added));
    else if (c.rows == 1)
        multiply_vector(work_of(b.transposed(), a.transposed(), c.transposed(),
                                added ? std::optional(added->transposed()) : std::nullopt));
    else
        multiply_tiles(work_of(a, b, c, added));
}

bool sum_products(const ProductSizes& sizes, const Matrices& a, const Matrices& b, const Matrices& c) {
    products::Product product = product_of(sizes, c, 1, std::nullopt, 0);
    check_sizes(a);
    check_sizes(b);
    product.a = a.layout();
    product.b = b.layout();
    const products::Plan plan = planner(sizes.device.index()).plan(product.shape());
    const std::int64_t parts = sizes.batch * plan.parts;
    if (!plan.tile.on_units || parts > most_groups)
        return false;
    const at::Tensor sums =
        at::empty({parts, c.rows, c.columns}, at::TensorOptions().device(sizes.device).dtype(at::kFloat));
    products::Product of_sums = products::product_of_sums(product, address(sums));
    if (plan.parts == 1) // kernels that split k always write float32
        of_sums.result_dtype = dtype_code(at::kFloat);
    products::multiply(of_sums, plan,
                       queue_with(sizes, std::array{a.access, b.access, writes(sums)}, std::nullopt));
    product.batch = 1;
    products::combine(product, products::sums_of(product, parts, address(sums)),
                      queue_with(sizes, std::array{reads(sums), as_written(c.access)}, std::nullopt));
    return true;
}

void combine_parts(const ProductSizes& sizes, const PartialSums& sums, const Matrices& c,
                   const at::Scalar& alpha, const std::optional<Matrices>& d, const at::Scalar& beta) {
    products::combine(
        product_of(sizes, c, alpha, d, beta),
        {address(sums.memory), sums.parts, sums.batch_stride, sums.part_stride, sums.row_stride},
        queue_with(sizes, std::array{reads(sums.memory), as_written(c.access)},
                   d ? std::optional(d->access) : std::nullopt));
}

} // namespace rvk
