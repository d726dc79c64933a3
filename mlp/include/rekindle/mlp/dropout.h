#pragma once
/// Which units dropout keeps: a pure function, so that every engine (CPU, GPU) makes the same masks.
///
/// One block of Philox4x32-10 decides four units:
///
///     key     = { low32(seed), high32(seed) ^ (RandomPurpose::dropout << 24) ^ layer }
///     counter = { unit / 4, row, high32(batch), low32(batch) }
///     word    = philox4x32(counter, key)[unit % 4]
///     kept    = word >= threshold(rate),   threshold(rate) = round(rate * 2^32)
///
/// layer: the dropout's position in ModelDescription::layers (below 2^24). batch: batches seen since the
/// start of training, from 0 (with one batch per step, the step). row: position in the batch. unit: column. A
/// kept unit is multiplied by float(1 / (1 - rate)), any other becomes zero. The words are the first words of
/// PhiloxStream(seed ^ layer << 32, RandomPurpose::dropout, low32(batch), row | high32(batch) << 32).

#include <cstddef>
#include <cstdint>

namespace rekindle::mlp {

struct DropoutPosition {
    std::uint64_t seed = 0;
    std::uint32_t layer = 0;
    std::uint64_t batch = 0;
    std::uint32_t row = 0;
    std::uint32_t unit = 0;
};

/// Smallest word that keeps a unit. Precondition: 0 <= rate < 1.
std::uint32_t dropout_threshold(double rate) noexcept;
/// The factor for a kept unit.
float dropout_scale(double rate) noexcept;
/// The rule above for one unit; the engine computes sixteen blocks at a time.
bool dropout_keeps(const DropoutPosition& position, double rate) noexcept;

} // namespace rekindle::mlp
