#pragma once
/// Eigenvalues of small symmetric matrices.

#include <cstddef>
#include <vector>

namespace rekindle::trainer {

struct SymmetricEigen {
    std::vector<double> values;  ///< one per row of the matrix, in no particular order
    std::vector<double> vectors; ///< row-major; column k belongs to values[k], with length 1
};

/// By Jacobi's cyclic rotations, which find small eigenvalues to high relative accuracy and also work for
/// singular matrices. `matrix` is size × size, row-major, symmetric and finite; sizes of a few hundred take
/// well under a second.
SymmetricEigen symmetric_eigen(std::vector<double> matrix, std::size_t size);

} // namespace rekindle::trainer
