#include <rekindle/base/philox.h>
#include <rekindle/mlp/dropout.h>

#include <algorithm>
#include <cmath>

namespace rekindle::mlp {

std::uint32_t dropout_threshold(double rate) noexcept {
    return static_cast<std::uint32_t>(std::min(std::floor(rate * 0x1.0p32 + 0.5), 4294967295.0));
}

float dropout_scale(double rate) noexcept {
    return static_cast<float>(1.0 / (1.0 - rate));
}

bool dropout_keeps(const DropoutPosition& at, double rate) noexcept {
    const std::uint32_t purpose = static_cast<std::uint32_t>(RandomPurpose::dropout) << 24;
    const PhiloxBlock words = philox4x32({at.unit / 4, at.row, static_cast<std::uint32_t>(at.batch >> 32),
                                          static_cast<std::uint32_t>(at.batch)},
                                         {static_cast<std::uint32_t>(at.seed),
                                          static_cast<std::uint32_t>(at.seed >> 32) ^ purpose ^ at.layer});
    return words[at.unit % 4] >= dropout_threshold(rate);
}

} // namespace rekindle::mlp
