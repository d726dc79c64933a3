#include <rekindle/kernels/kernel.h>

#include <bit>

namespace rekindle::kernels {

std::string_view name(Feature feature) noexcept {
    static constexpr std::string_view names[] = {"float16_arithmetic",
                                                 "float64",
                                                 "storage_16bit",
                                                 "storage_8bit",
                                                 "int8_arithmetic",
                                                 "int64_atomics",
                                                 "subgroup_basic",
                                                 "subgroup_arithmetic",
                                                 "subgroup_shuffle",
                                                 "cooperative_matrix",
                                                 "subgroup_size_control",
                                                 "shared_48k",
                                                 "shared_64k",
                                                 "matrix_16x16x16",
                                                 "matrix_8x16x16",
                                                 "matrix_8x8x16",
                                                 "matrix_8x8x8",
                                                 "bfloat16_units",
                                                 "matrix_quads",
                                                 "matrix_columns"};
    const auto bit = static_cast<std::size_t>(std::countr_zero(static_cast<std::uint32_t>(feature)));
    return bit < std::size(names) ? names[bit] : std::string_view{};
}

Features feature_named(std::string_view word) noexcept {
    for (std::uint32_t bit = 1; bit != 0; bit <<= 1)
        if (!word.empty() && name(static_cast<Feature>(bit)) == word)
            return static_cast<Feature>(bit);
    return {};
}

} // namespace rekindle::kernels
