#pragma once
/// Turns a product and its plan into launches of kernels/product/product.slang and product_units.slang.

#include <rekindle/kernels/kernel.h>
#include <rekindle/products/plan.h>
#include <rekindle/runtime/device.h>
#include <rekindle/runtime/stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace rekindle::products {

/// A batch of matrices in device memory. Strides are in elements and not negative; 0 repeats.
struct Matrix {
    std::uint64_t address = 0;
    std::int64_t rows = 0, columns = 0;
    std::int64_t row_stride = 0, column_stride = 0, batch_stride = 0;

    Matrix transposed() const { return {address, columns, rows, column_stride, row_stride, batch_stride}; }
};

/// C = alpha * A * B + beta * D for each matrix of the batch. D may be C.
struct Product {
    ElementType type{};
    std::uint32_t dtype = 0;        ///< of the operands, a value of the kernels' constant `dtype`
    std::uint32_t result_dtype = 0; ///< of C and D; differs from dtype only on matrix units
    std::int64_t element_bytes = 0; ///< of the operands
    std::int64_t batch = 1;
    Matrix a{}, b{}, c{};
    std::optional<Matrix> d{};         ///< empty: nothing is added
    std::uint64_t alpha = 0, beta = 0; ///< bits of a number of the accumulator type
    /// Whether the kernel may add the products within a slice of k in float16, which is faster and less
    /// accurate. Ignored unless the plan's tile multiplies_float16().
    bool half_sums = false;

    ProductShape shape() const;
};

/// One dispatch. Valid only during the call.
struct Launch {
    const kernels::Kernel& kernel;
    runtime::Groups groups;
    std::span<const std::byte> parameters;
    std::span<const kernels::ConstantValue> constants;
};
/// Queues a dispatch that reads A, B and D and writes C.
using QueueLaunch = std::function<void(const Launch&)>;

/// Calls `queue` for each launch that the plan needs, except the one that adds parts. With plan.parts > 1, C
/// must hold the sums of all parts, [batch * parts, m, n] without gaps, and D must be empty. Throws
/// runtime::Error for sizes and strides of 2^31 and above.
void multiply(const Product& product, const Plan& plan, const QueueLaunch& queue);
/// Chooses how to multiply if B has one column.
VectorPlan vector_plan(const DeviceParameters& device, const Product& product);
/// Like multiply, if B has one column. plan: vector_plan(device, product).
void multiply_vector(const Product& product, const VectorPlan& plan, const QueueLaunch& queue);

/// Partial sums of the accumulator type. Strides are in numbers; rows are contiguous.
struct Sums {
    std::uint64_t address = 0;
    std::int64_t parts = 1, batch_stride = 0, part_stride = 0, row_stride = 0;
};
/// One launch: C = alpha * (the sum of the parts) + beta * D. A and B of `product` are not used.
void combine(const Product& product, const Sums& sums, const QueueLaunch& queue);

/// The same product, but its C is the scratch memory at this address, which receives the sums of each part.
Product product_of_sums(const Product& product, std::uint64_t address);
/// Describes that memory to `combine`.
Sums sums_of(const Product& product, std::int64_t parts, std::uint64_t address);

/// The memory that a product uses, for Stream::launch.
struct ProductAccesses {
    runtime::Access a, b, c;
    std::optional<runtime::Access> d;
};
/// Queues the whole product on a stream of `device`; scratch memory comes from its allocator. Throws
/// runtime::Unsupported when the device lacks a feature, and as `multiply` does.
void queue_product(runtime::Device& device, runtime::Stream& stream, const Product& product, const Plan& plan,
                   const ProductAccesses& accesses);

} // namespace rekindle::products
