#include <rekindle/trainer/slice_length.h>

#include <algorithm>

namespace rekindle::trainer {

namespace {

constexpr double seconds_per_slice = 0.05;
constexpr std::uint64_t first_slice_batches = 64;
constexpr std::uint64_t first_slice_network_steps = 8192;
constexpr std::uint64_t max_slice_batches = std::uint64_t{1} << 24;

} // namespace

SliceLength::SliceLength(std::size_t networks) noexcept
    : batches_(networks > 1
                   ? std::clamp<std::uint64_t>(first_slice_network_steps / networks, 1, first_slice_batches)
                   : first_slice_batches) {}

void SliceLength::took(double seconds) noexcept {
    if (seconds < seconds_per_slice / 2)
        batches_ = std::min(batches_ * 2, max_slice_batches);
    else if (seconds > seconds_per_slice * 2)
        batches_ = std::max<std::uint64_t>(batches_ / 2, 1);
}

} // namespace rekindle::trainer
