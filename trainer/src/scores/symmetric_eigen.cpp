#include "symmetric_eigen.h"

#include <cmath>
#include <utility>

namespace rekindle::trainer {

namespace {

/// More sweeps than any matrix needs: convergence is quadratic once the off-diagonal elements are small.
constexpr int max_sweeps = 60;

/// Rotates rows (or columns) p and q of the matrix, whose elements are `stride` apart.
void rotate(double* p, double* q, std::size_t stride, std::size_t size, double cosine, double sine) {
    for (std::size_t i = 0; i < size; ++i) {
        const double a = p[i * stride], b = q[i * stride];
        p[i * stride] = cosine * a - sine * b;
        q[i * stride] = sine * a + cosine * b;
    }
}

/// The tangent of the rotation that makes element (p, q) zero, for the smaller of the two angles.
double rotation_tangent(double pp, double qq, double pq) {
    const double theta = (qq - pp) / (2 * pq);
    const double root = std::abs(theta) > 1e150 ? std::abs(theta) : std::sqrt(theta * theta + 1);
    return (theta < 0 ? -1.0 : 1.0) / (std::abs(theta) + root);
}

/// One rotation for each element above the diagonal. False when all of them are negligible.
bool sweep(std::vector<double>& matrix, std::vector<double>& vectors, std::size_t size) {
    bool rotated = false;
    for (std::size_t p = 0; p + 1 < size; ++p)
        for (std::size_t q = p + 1; q < size; ++q) {
            const double pq = matrix[p * size + q];
            const double pp = matrix[p * size + p], qq = matrix[q * size + q];
            if (pq == 0 || std::abs(pq) <= 1e-17 * std::sqrt(std::abs(pp)) * std::sqrt(std::abs(qq)))
                continue;
            const double tangent = rotation_tangent(pp, qq, pq);
            const double cosine = 1 / std::sqrt(tangent * tangent + 1), sine = tangent * cosine;
            rotate(&matrix[p * size], &matrix[q * size], 1, size, cosine, sine);
            rotate(&matrix[p], &matrix[q], size, size, cosine, sine);
            matrix[p * size + q] = matrix[q * size + p] = 0;
            rotate(&vectors[p], &vectors[q], size, size, cosine, sine);
            rotated = true;
        }
    return rotated;
}

} // namespace

SymmetricEigen symmetric_eigen(std::vector<double> matrix, std::size_t size) {
    SymmetricEigen result{std::vector<double>(size), std::vector<double>(size * size)};
    for (std::size_t i = 0; i < size; ++i)
        result.vectors[i * size + i] = 1;
    for (int sweeps = 0; sweeps < max_sweeps && sweep(matrix, result.vectors, size); ++sweeps) {
    }
    for (std::size_t i = 0; i < size; ++i)
        result.values[i] = matrix[i * size + i];
    return result;
}

} // namespace rekindle::trainer
