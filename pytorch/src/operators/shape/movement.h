#pragma once
/// Moves elements by a rule for each dimension (kernels/shape/shape.slang).

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <vector>

namespace rvk {

/// The source position for position x along a dimension of the result.
struct MovementRule {
    enum Kind : std::uint32_t {
        same = 0,
        roll = 1,    ///< (x + a) mod b
        reflect = 2, ///< x - a, mirrored at 0 and b - 1
        clamp = 3,   ///< x - a, at least 0 and at most b - 1
        table = 4,   ///< places[x]
        flip = 5,    ///< size - 1 - x
    };
    Kind kind = same;
    std::int64_t a = 0, b = 0;
    std::vector<std::uint32_t> places{};
};

/// Which elements of the last two dimensions keep their values; the others become zero.
enum class Triangle : std::uint32_t { whole = 0, lower = 1, upper = 2 };

/// Copies the source's elements to the result by one rule per dimension. Both have the same dtype. `diagonal`
/// applies to triangles. Throws c10::NotImplementedError for more than eight dimensions that cannot be
/// merged.
void move_elements(const at::Tensor& result, const at::Tensor& source, const std::vector<MovementRule>& rules,
                   Triangle triangle = Triangle::whole, std::int64_t diagonal = 0);

} // namespace rvk
