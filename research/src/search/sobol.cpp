#include <rekindle/research/search_space.h>

#include <array>
#include <bit>

namespace rekindle::research {

namespace {

constexpr std::size_t bits = 32;
constexpr std::size_t largest_degree = 7;

/// A primitive polynomial over GF(2) and the initial direction numbers of a dimension. The first dimension is
/// van der Corput's sequence and needs none.
struct Polynomial {
    unsigned degree;
    unsigned coefficients; ///< of the inner terms, highest power first
    std::array<std::uint32_t, largest_degree> first;
};

constexpr std::array<Polynomial, sobol_dimensions - 1> polynomials{{
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
}};

using Directions = std::array<std::uint32_t, bits>;

constexpr Directions directions_of(std::size_t dimension) {
    Directions v{};
    if (dimension == 0) {
        for (std::size_t k = 0; k < bits; ++k)
            v[k] = std::uint32_t{1} << (bits - 1 - k);
        return v;
    }
    const Polynomial& p = polynomials[dimension - 1];
    for (std::size_t k = 0; k < bits; ++k) {
        if (k < p.degree) {
            v[k] = p.first[k] << (bits - 1 - k);
            continue;
        }
        v[k] = v[k - p.degree] ^ (v[k - p.degree] >> p.degree);
        for (unsigned term = 1; term < p.degree; ++term)
            if ((p.coefficients >> (p.degree - 1 - term) & 1) != 0)
                v[k] ^= v[k - term];
    }
    return v;
}

constexpr std::array<Directions, sobol_dimensions> direction_table = [] {
    std::array<Directions, sobol_dimensions> table{};
    for (std::size_t d = 0; d < sobol_dimensions; ++d)
        table[d] = directions_of(d);
    return table;
}();

} // namespace

std::vector<std::uint32_t> sobol_point(std::uint32_t index, std::size_t dimensions) {
    const std::uint32_t gray = index ^ (index >> 1);
    std::vector<std::uint32_t> point(dimensions);
    for (std::size_t d = 0; d < dimensions; ++d)
        for (std::uint32_t rest = gray; rest != 0; rest &= rest - 1)
            point[d] ^= direction_table[d][static_cast<std::size_t>(std::countr_zero(rest))];
    return point;
}

} // namespace rekindle::research
