#pragma once
/// Products of batches of matrices on the device.

#include "../../dispatch/launch.h"

#include <rekindle/products/multiply.h>

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <cstdint>
#include <optional>

namespace rvk {

/// A batch of matrices in a tensor's memory. Strides count elements and are not negative; 0 repeats.
struct Matrices {
    std::uint64_t address = 0;
    std::int64_t rows = 0, columns = 0;
    std::int64_t row_stride = 0, column_stride = 0, batch_stride = 0;
    Access access{}; ///< the whole tensor; the launching code sets `writes`

    /// From a tensor [rows, columns] or [batch, rows, columns].
    static Matrices of(const at::Tensor& tensor);
    /// From a tensor [rows], as a single column.
    static Matrices column_of(const at::Tensor& vector);
    /// From a tensor of 0 to 3 dimensions, broadcast to matrices of these sizes.
    static Matrices broadcast_of(const at::Tensor& tensor, std::int64_t rows, std::int64_t columns);

    Matrices transposed() const;
    /// Without the access.
    rekindle::products::Matrix layout() const {
        return {address, rows, columns, row_stride, column_stride, batch_stride};
    }
};

/// The kernels for a dtype, named after the type of their sums: float32 (also for float16 and bfloat16),
/// float64, or integer (int64).
enum class NumberFamily { float32, float64, integer };
/// Throws c10::NotImplementedError for bool and complex numbers, and for float64 if the device does not
/// support it.
NumberFamily number_family(at::ScalarType dtype, c10::Device device);
/// The dtype of tensors that hold sums.
at::ScalarType sum_type(NumberFamily family);
/// The bits of a number in the family's sum type, as a kernel parameter.
std::uint64_t number_bits(NumberFamily family, const at::Scalar& number);

struct ProductSizes {
    c10::Device device;
    at::ScalarType dtype; ///< of all operands
    std::int64_t batch = 1;
};

/// Queues C = alpha * A * B + beta * D for each matrix of the batch; D may be C. D is not read if beta is 0.
/// Sums run in the order of k; for a small product with a large k, k is split. The result is reproducible.
/// Throws c10::NotImplementedError for dtypes without kernels, and for sizes or strides of 2^31 or more.
void multiply_matrices(const ProductSizes& sizes, const Matrices& a, const Matrices& b, const Matrices& c,
                       const at::Scalar& alpha = 1, const std::optional<Matrices>& d = std::nullopt,
                       const at::Scalar& beta = 0);

/// Queues kernels that set C to the sum of A * B over all matrices of the batch: one computes the products on
/// matrix units, and a second one adds them in float32. Returns false, and queues nothing, if the plan does
/// not use matrix units. Preconditions: dtype is float16 or bfloat16, and C has at least two rows and two
/// columns.
bool sum_products(const ProductSizes& sizes, const Matrices& a, const Matrices& b, const Matrices& c);

/// The partial sums of C's elements, in the sums' type. Strides count elements; rows are contiguous.
struct PartialSums {
    at::Tensor memory;
    std::int64_t parts = 1;
    std::int64_t batch_stride = 0, part_stride = 0, row_stride = 0;
};

/// Queues C = alpha * (sum of the parts) + beta * D.
void combine_parts(const ProductSizes& sizes, const PartialSums& sums, const Matrices& c,
                   const at::Scalar& alpha = 1, const std::optional<Matrices>& d = std::nullopt,
                   const at::Scalar& beta = 0);

} // namespace rvk
