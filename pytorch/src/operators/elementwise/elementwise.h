#pragma once
/// Runs an elementwise operation over a TensorIterator in one launch (kernels/elementwise/).

#include "../../dispatch/launch.h"

#include <ATen/TensorIterator.h>
#include <array>
#include <c10/core/Scalar.h>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace rvk {

/// The operations of kernels/include/rekindle/kernels/elementwise.def, with the same numbers as in the
/// kernels.
enum class Operation : std::uint32_t {
#define REKINDLE_BOTH(name, ...) name,
#define REKINDLE_REAL(name, ...) name,
#define REKINDLE_INTEGER(name, ...) name,
#include <rekindle/kernels/elementwise.def>
#undef REKINDLE_BOTH
#undef REKINDLE_REAL
#undef REKINDLE_INTEGER
};

/// The scalars s0, s1, s2 of an operation; unused ones have no value.
using Parameters = std::array<std::optional<c10::Scalar>, 3>;

/// Computes output 0 = operation(inputs 1 to 3) in the iterator's common dtype, with its broadcasting and
/// conversions. An input on the CPU is a scalar. Asynchronous on the current stream. Throws
/// c10::NotImplementedError if no kernel supports the call: complex and unsigned 16- to 64-bit dtypes,
/// float64 on a device without it, an integer dtype in a floating-point operation or the reverse, and more
/// than eight dimensions that cannot be merged.
void compute(at::TensorIteratorBase& iterator, Operation operation, const Parameters& parameters = {});
/// Computes in `dtype` instead of the common one, for iterators that have no common dtype.
void compute_as(at::ScalarType dtype, at::TensorIteratorBase& iterator, Operation operation,
                const Parameters& parameters = {});

/// An iterator whose inputs (including CPU scalars) are broadcast and promoted to their common dtype; `out`
/// is allocated if it is undefined.
at::TensorIterator iterator_of(const at::Tensor& out, std::initializer_list<at::Tensor> inputs);

/// Bodies of dispatch stubs.
template <Operation operation>
void on_each(at::TensorIteratorBase& iterator) {
    compute(iterator, operation);
}
template <Operation operation>
void on_each_of(at::TensorIterator& iterator) {
    compute(iterator, operation);
}

} // namespace rvk
