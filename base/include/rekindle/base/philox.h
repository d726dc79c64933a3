#pragma once
/// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
/// easy as 1, 2, 3" (SC 2011). A value depends only on its key and counter, so order and threads do not
/// matter.

#include <array>
#include <cstdint>

namespace rekindle {

/// What random numbers are used for. It is part of the key, so that two uses never share a sequence.
enum class RandomPurpose : std::uint32_t {
    initial_weights = 1,
    shuffle = 2,
    dropout = 3,
    simulation = 4,
    bootstrap = 5,
    test = 6,
    search = 7,
};

using PhiloxBlock = std::array<std::uint32_t, 4>;

/// Ten rounds of Philox4x32. Pure; gives the same result on every machine.
constexpr PhiloxBlock philox4x32(PhiloxBlock counter, std::array<std::uint32_t, 2> key) noexcept {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t low = std::uint64_t{0xD2511F53u} * counter[0];
        const std::uint64_t high = std::uint64_t{0xCD9E8D57u} * counter[2];
        counter = {
            static_cast<std::uint32_t>(high >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(high),
            static_cast<std::uint32_t>(low >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(low)};
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return counter;
}

/// A stream of random numbers keyed by (seed, purpose, step, index). Copyable; not shared between threads.
/// Key: low and high half of seed, the high half mixed with the purpose. Counter: block number, index (2
/// words), step.
class PhiloxStream {
  public:
    constexpr PhiloxStream(std::uint64_t seed, RandomPurpose purpose, std::uint32_t step = 0,
                           std::uint64_t index = 0) noexcept
        : key_{static_cast<std::uint32_t>(seed),
               static_cast<std::uint32_t>(seed >> 32) ^ (static_cast<std::uint32_t>(purpose) << 24)},
          counter_{0, static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), step} {}

    constexpr std::uint32_t next_u32() noexcept {
        if (used_ == 4) {
            block_ = philox4x32(counter_, key_);
            ++counter_[0];
            used_ = 0;
        }
        return block_[used_++];
    }
    constexpr std::uint64_t next_u64() noexcept {
        const std::uint64_t low = next_u32();
        return low | std::uint64_t{next_u32()} << 32;
    }
    /// Uniform in [0, 1), 53 bits.
    constexpr double next_double() noexcept { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }
    /// Uniform in [0, bound) without bias (Lemire, 2019). Precondition: bound > 0.
    constexpr std::uint32_t next_below(std::uint32_t bound) noexcept {
        std::uint64_t product = std::uint64_t{next_u32()} * bound;
        if (static_cast<std::uint32_t>(product) < bound) {
            const std::uint32_t threshold = (0u - bound) % bound;
            while (static_cast<std::uint32_t>(product) < threshold)
                product = std::uint64_t{next_u32()} * bound;
        }
        return static_cast<std::uint32_t>(product >> 32);
    }
    /// Standard normal, by the Box-Muller transform. Uses libm: reproducible on one machine, but not across
    /// libm versions.
    double next_normal() noexcept;

  private:
    std::array<std::uint32_t, 2> key_;
    PhiloxBlock counter_;
    PhiloxBlock block_{};
    unsigned used_ = 4;
};

} // namespace rekindle
