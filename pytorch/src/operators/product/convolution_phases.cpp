#include "convolution_phases.h"

#include <rekindle/kernels/ceil_div.h>

#include <ATen/ops/constant_pad_nd.h>
#include <algorithm>
#include <numeric>
#include <optional>

namespace rvk {

namespace {

using at::Tensor;
using rekindle::kernels::ceil_div;

/// The distance between neighboring taps of one phase.
std::int64_t tap_step(const Geometry& g, std::size_t d) {
    return g.stride[d] / std::gcd(g.stride[d], g.dilation[d]);
}
std::int64_t phase_count(const Geometry& g, std::size_t d) {
    return std::min(tap_step(g, d), g.kernel[d]);
}
std::int64_t tap_count(const Geometry& g, std::size_t d, std::int64_t phase) {
    return ceil_div(g.kernel[d] - phase, tap_step(g, d));
}

/// The range of q for which a phase's pixels are in the input; pixels with q below 0 receive nothing.
struct Range {
    std::int64_t begin, end;
    std::int64_t size() const { return end - begin; }
};
Range pixels_of(const Geometry& g, std::size_t d, std::int64_t phase) {
    const std::int64_t first = g.padding[d] - phase * g.dilation[d], last = g.input[d] - 1 + first;
    const std::int64_t begin = ceil_div(std::max<std::int64_t>(first, 0), g.stride[d]);
    return {begin, last < 0 ? begin : std::max(begin, last / g.stride[d] + 1)};
}
Range pixels_of(const Geometry& g, std::size_t d, std::int64_t first, std::int64_t count) {
    Range all = pixels_of(g, d, first);
    for (std::int64_t phase = first + 1; phase < first + count; ++phase) {
        const Range one = pixels_of(g, d, phase);
        if (one.size() == 0)
            continue;
        all = all.size() == 0 ? one : Range{std::min(all.begin, one.begin), std::max(all.end, one.end)};
    }
    return all;
}

/// Empty if none of the phases' pixels are in the input.
std::optional<JoinedPhases> joined(const Geometry& g, const Size3& first, const Size3& count) {
    JoinedPhases result{g, first, count};
    Geometry& dense = result.geometry;
    for (std::size_t d = 0; d < 3; ++d) {
        const Range pixels = pixels_of(g, d, first[d], count[d]);
        if (pixels.size() == 0)
            return std::nullopt;
        dense.input[d] = pixels.size();
        dense.padding[d] = pixels.begin;
        dense.kernel[d] = tap_count(g, d, first[d]);
        dense.dilation[d] = g.dilation[d] / std::gcd(g.stride[d], g.dilation[d]);
    }
    dense.stride = {1, 1, 1};
    dense.in_channels *= result.phases();
    dense.flatten_pixels();
    return result;
}

std::vector<JoinedPhases> all_in_one(const Geometry& g) {
    const auto phases = joined(g, {0, 0, 0}, {phase_count(g, 0), phase_count(g, 1), phase_count(g, 2)});
    return phases ? std::vector{*phases} : std::vector<JoinedPhases>();
}

std::vector<JoinedPhases> each_separately(const Geometry& g) {
    std::vector<JoinedPhases> result;
    for (std::int64_t depth = 0; depth < phase_count(g, 0); ++depth)
        for (std::int64_t height = 0; height < phase_count(g, 1); ++height)
            for (std::int64_t width = 0; width < phase_count(g, 2); ++width)
                if (const auto phase = joined(g, {depth, height, width}, {1, 1, 1}))
                    result.push_back(*phase);
    return result;
}

/// Estimated cost, in multiply-adds of the kernels with tiles; input channels are rounded up to the rows of a
/// tile. In the kernels without tiles (for one or two channels), a multiply-add costs 3 times as much, and 16
/// times with strides.
double cost(const Geometry& g) {
    const std::int64_t m = g.in_channels;
    const std::int64_t rows = m <= 2 ? m * (g.unit_stride() ? 3 : 16) : m <= 16 ? 16 : ceil_div(m, 32) * 32;
    const double columns = static_cast<double>(g.batch) * static_cast<double>(volume(g.input));
    return static_cast<double>(g.groups * rows) * columns *
           static_cast<double>(g.out_channels * volume(g.kernel));
}
double cost(const Geometry& g, const std::vector<JoinedPhases>& phases) {
    constexpr double of_moving_an_element = 32, of_convolution = 1 << 25;
    double sum = of_moving_an_element * static_cast<double>(g.batch * g.groups * g.in_channels) *
                 static_cast<double>(volume(g.input));
    for (const JoinedPhases& some : phases)
        sum += cost(some.geometry) + of_convolution;
    return sum;
}
constexpr double least_saving = 1 << 26;

} // namespace

std::vector<JoinedPhases> phases_of(const Geometry& g) {
    if (g.unit_stride() || volume(g.output) == 0 || cost(g) < least_saving)
        return {};
    std::vector<JoinedPhases> one = all_in_one(g), many = each_separately(g);
    std::vector<JoinedPhases>& best = cost(g, one) <= cost(g, many) ? one : many;
    return cost(g) - cost(g, best) >= least_saving ? best : std::vector<JoinedPhases>();
}

bool phases_cover_input(const Geometry& g) {
    for (std::size_t d = 0; d < 3; ++d) {
        std::int64_t covered = 0;
        for (std::int64_t phase = 0; phase < phase_count(g, d); ++phase)
            covered += pixels_of(g, d, phase).size();
        if (covered != g.input[d])
            return false;
    }
    return true;
}

Tensor weight_of_phases(const JoinedPhases& phases, const Geometry& g, const Tensor& weight) {
    const std::int64_t channels = g.groups * g.out_channels;
    Tensor taps = weight.reshape({channels, g.in_channels, g.kernel[0], g.kernel[1], g.kernel[2]});
    std::vector<std::int64_t> sizes{channels, g.in_channels}; // then for each dimension: taps, phases
    Size3 per_phase{};
    for (std::size_t d = 0; d < 3; ++d) {
        const auto dim = static_cast<std::int64_t>(d) + 2;
        const std::int64_t step = tap_step(g, d);
        per_phase[d] = tap_count(g, d, phases.first[d]);
        if (phases.count[d] == 1)
            taps = taps.slice(dim, phases.first[d], g.kernel[d], step);
        else if (const std::int64_t missing = per_phase[d] * phases.count[d] - g.kernel[d]; missing > 0) {
            std::vector<std::int64_t> padding(10, 0); // from the last dimension to the first: before, after
            padding[static_cast<std::size_t>(4 - dim) * 2 + 1] = missing;
            taps = at::constant_pad_nd(taps, padding, 0);
        }
        sizes.insert(sizes.end(), {per_phase[d], phases.count[d]});
    }
    return taps.reshape(sizes)
        .permute({0, 1, 3, 5, 7, 2, 4, 6})
        .reshape({channels, phases.geometry.in_channels, per_phase[0], per_phase[1], per_phase[2]})
        .contiguous();
}

Tensor bias_of_phases(const JoinedPhases& phases, const Tensor& bias) {
    if (!bias.defined())
        return bias;
    return bias.view({-1, 1}).expand({bias.numel(), phases.phases()}).reshape({-1}).contiguous();
}

void place_phases(const JoinedPhases& phases, const Geometry& g, const Tensor& pixels,
                  const Tensor& gradient) {
    const Size3 &first = phases.first, &count = phases.count;
    Size3 begin{}, size{};
    for (std::size_t d = 0; d < 3; ++d) {
        const Range range = pixels_of(g, d, first[d], count[d]);
        begin[d] = range.begin;
        size[d] = range.size();
    }
    const std::int64_t batch = gradient.size(0), channels = g.groups * g.in_channels;
    const Tensor to = gradient.view({batch, channels, g.input[0], g.input[1], g.input[2]});
    const Tensor from = pixels.view({batch, channels, phases.phases(), size[0], size[1], size[2]});
    for (std::int64_t number = 0; number < phases.phases(); ++number) {
        const Size3 phase{first[0] + number / (count[1] * count[2]), first[1] + number / count[2] % count[1],
                          first[2] + number % count[2]};
        Tensor source = from.select(2, number), target = to;
        bool empty = false;
        for (std::size_t d = 0; d < 3 && !empty; ++d) {
            const auto dim = static_cast<std::int64_t>(d) + 2;
            const Range range = pixels_of(g, d, phase[d]);
            empty = range.size() == 0;
            if (empty)
                continue;
            const std::int64_t at = g.stride[d] * range.begin + g.dilation[d] * phase[d] - g.padding[d];
            source = source.narrow(dim, range.begin - begin[d], range.size());
            target = target.slice(dim, at, at + g.stride[d] * (range.size() - 1) + 1, g.stride[d]);
        }
        if (!empty)
            target.copy_(source);
    }
}

} // namespace rvk
