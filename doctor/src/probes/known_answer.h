#pragma once
/// The sum that a GPU has to compute: every element is exact in float32 and differs from its neighbors.

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rekindle::doctor {

struct VectorAdd {
    /// Not a multiple of the block: the last one is partly out of range.
    static constexpr std::size_t size = 1000;
    static constexpr unsigned block = 256;
    static constexpr unsigned blocks = (size + block - 1) / block;
    static constexpr std::size_t bytes = size * sizeof(float);

    std::vector<float> left = std::vector<float>(size);
    std::vector<float> right = std::vector<float>(size);
    std::vector<float> sum = std::vector<float>(size, -1); ///< the values that stay when no kernel ran

    VectorAdd() {
        for (std::size_t i = 0; i < size; ++i) {
            left[i] = static_cast<float>(i);
            right[i] = static_cast<float>(2 * i + 1);
        }
    }

    /// "element 17 is -1, not 52; 983 of 1000 are wrong", "" when `sum` is right.
    std::string mistake() const {
        std::size_t wrong = 0;
        std::size_t first = 0;
        for (std::size_t i = size; i-- > 0;)
            if (sum[i] != left[i] + right[i]) {
                ++wrong;
                first = i;
            }
        if (wrong == 0)
            return {};
        return fmt::format("element {} is {}, not {}; {} of {} are wrong", first, sum[first],
                           left[first] + right[first], wrong, size);
    }
};

} // namespace rekindle::doctor
