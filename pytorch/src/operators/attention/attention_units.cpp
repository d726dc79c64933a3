#include "attention_units.h"

#include "../../dispatch/launch.h"
#include "../product/matrices.h"

namespace rvk {

std::optional<runtime::UnitAttention> attention_on_units(const runtime::Device& device, at::ScalarType dtype,
                                                         std::int64_t width) {
    const auto factor = unit_factor(dtype);
    return factor ? runtime::unit_attention(device, *factor, static_cast<std::uint32_t>(width))
                  : std::nullopt;
}

bool is_in_groups(const at::Tensor& tensor, std::int64_t numbers) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(numbers * tensor.element_size());
    if (tensor.size(3) % numbers != 0 || raw_address(tensor) % bytes != 0)
        return false;
    for (std::int64_t d = 0; d < 3; ++d)
        if (tensor.size(d) != 1 && tensor.stride(d) % numbers != 0)
            return false;
    return true;
}

} // namespace rvk
