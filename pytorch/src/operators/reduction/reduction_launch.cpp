#include "reduction_launch.h"

#include "../../dispatch/limits.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/reduction.h>
#include <rekindle/kernels/families/reduction_float64.h>
#include <rekindle/kernels/families/reduction_int64.h>

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

namespace rvk {

namespace {

constexpr std::int64_t threads = 256;
constexpr std::int64_t saved_bytes = 24; // per state, as in kernels/reduction/schedule.slang
constexpr std::size_t maximum_rank = 3;

using Dimensions = c10::SmallVector<ReductionDimension, 8>;

std::uint32_t power_of_two(std::int64_t at_least, std::int64_t at_most) {
    return std::bit_ceil(static_cast<std::uint32_t>(std::clamp<std::int64_t>(at_least, 1, at_most)));
}

/// The reduced or the kept dimensions, fastest first; adjacent dimensions that are contiguous in memory are
/// merged.
Dimensions select(const Dimensions& all, bool reduced) {
    Dimensions some;
    for (const auto& d : all)
        if (d.reduced == reduced && d.size != 1)
            some.push_back(d);
    std::ranges::stable_sort(some, {}, &ReductionDimension::input_stride);
    Dimensions merged;
    for (const auto& d : some) {
        if (!merged.empty()) {
            auto& last = merged.back();
            if (d.input_stride == last.input_stride * last.size &&
                (reduced || d.output_stride == last.output_stride * last.size)) {
                last.size *= d.size;
                continue;
            }
        }
        merged.push_back(d);
    }
    return merged;
}

std::int64_t count_of(const Dimensions& dimensions) {
    std::int64_t count = 1;
    for (const auto& d : dimensions)
        count *= d.size;
    return count;
}

/// The index of an extreme counts reduced elements in their logical order, which matches memory order only
/// for a single dimension.
void check_order(const ReductionRequest& request, const Dimensions& reduced) {
    const bool indexed = request.operation == Reduction::argmax || request.operation == Reduction::argmin;
    TORCH_INTERNAL_ASSERT(!indexed || reduced.size() <= 1);
}

/// For more dimensions than the kernel supports: copies the input so that the reduced dimensions merge into
/// one, and the kept ones as far as the output's strides allow.
ReductionRequest compacted(const ReductionRequest& request, Dimensions kept, const Dimensions& reduced) {
    std::ranges::stable_sort(kept, std::greater(), &ReductionDimension::output_stride);
    std::vector<std::int64_t> sizes, strides;
    for (const Dimensions* side : std::initializer_list<const Dimensions*>{&kept, &reduced})
        for (const auto& d : *side) {
            sizes.push_back(d.size);
            strides.push_back(d.input_stride);
        }
    ReductionRequest result = request;
    result.input = request.input.as_strided(sizes, strides, request.input.storage_offset()).contiguous();
    result.dimensions.clear();
    for (std::size_t d = 0; d < sizes.size(); ++d)
        result.dimensions.push_back({sizes[d], result.input.stride(static_cast<std::int64_t>(d)),
                                     d < kept.size() ? kept[d].output_stride : 0, d >= kept.size()});
    TORCH_CHECK_NOT_IMPLEMENTED(select(result.dimensions, false).size() <= maximum_rank,
                                "a reduction into a result of more than three strided dimensions");
    return result;
}

enum class Arithmetic { float32, integer, float64 };

Arithmetic arithmetic_of(const ReductionRequest& request) {
    const auto input = request.input.scalar_type(), output = request.output.scalar_type();
    TORCH_CHECK_NOT_IMPLEMENTED(!c10::isComplexType(input) && !c10::isComplexType(output),
                                "reductions of complex numbers");
    if (input == at::kDouble || output == at::kDouble) {
        require_float64(at::kDouble, request.input.device());
        return Arithmetic::float64;
    }
    if (c10::isIntegralType(input, true) && c10::isIntegralType(output, true))
        return Arithmetic::integer;
    return Arithmetic::float32;
}

std::int32_t narrow(std::int64_t stride) {
    TORCH_CHECK_NOT_IMPLEMENTED(stride <= std::numeric_limits<std::int32_t>::max(),
                                "a reduction with a stride of 2^31 elements or more");
    return static_cast<std::int32_t>(stride);
}

using kernels::ReductionParameters;

ReductionParameters parameters_of(const ReductionRequest& request, const Dimensions& kept,
                                  const Dimensions& reduced) {
    const auto dimension = [](const Dimensions& d, std::size_t i) {
        return i < d.size() ? d[i] : ReductionDimension{};
    };
    ReductionParameters p{};
    p.input = address(request.input);
    p.output = address(request.output);
    p.second = request.second.defined() ? address(request.second) : 0;
    p.outputs = static_cast<std::uint32_t>(count_of(kept));
    p.reduced = static_cast<std::uint32_t>(count_of(reduced));
    p.kept_size0 = static_cast<std::uint32_t>(dimension(kept, 0).size);
    p.kept_size1 = static_cast<std::uint32_t>(dimension(kept, 1).size);
    p.reduced_size0 = static_cast<std::uint32_t>(dimension(reduced, 0).size);
    p.reduced_size1 = static_cast<std::uint32_t>(dimension(reduced, 1).size);
    p.kept_stride0 = narrow(dimension(kept, 0).input_stride);
    p.kept_stride1 = narrow(dimension(kept, 1).input_stride);
    p.kept_stride2 = narrow(dimension(kept, 2).input_stride);
    p.reduced_stride0 = narrow(dimension(reduced, 0).input_stride);
    p.reduced_stride1 = narrow(dimension(reduced, 1).input_stride);
    p.reduced_stride2 = narrow(dimension(reduced, 2).input_stride);
    p.output_stride0 = narrow(dimension(kept, 0).output_stride);
    p.output_stride1 = narrow(dimension(kept, 1).output_stride);
    p.output_stride2 = narrow(dimension(kept, 2).output_stride);
    return p;
}

bool exceeds_32_bits(const Dimensions& kept, const Dimensions& reduced) {
    std::int64_t input = 0, output = 0;
    for (const Dimensions* side : std::initializer_list<const Dimensions*>{&kept, &reduced})
        for (const auto& d : *side) {
            input += (d.size - 1) * d.input_stride;
            output += (d.size - 1) * d.output_stride;
        }
    return std::max(input, output) > std::numeric_limits<std::int32_t>::max();
}

bool vectors_fit(const ReductionRequest& request, const Dimensions& kept, const Dimensions& reduced,
                 const ReductionSchedule& schedule) {
    if (schedule.columns_fastest || reduced.size() != 1 || reduced[0].input_stride != 1 ||
        reduced[0].size % 4 != 0)
        return false;
    return address(request.input) % 16 == 0 &&
           std::ranges::all_of(kept, [](const auto& d) { return d.input_stride % 4 == 0; });
}

std::uint64_t argument_bits(const ReductionRequest& request, Arithmetic arithmetic) {
    return arithmetic == Arithmetic::integer
               ? static_cast<std::uint64_t>(static_cast<std::int64_t>(request.argument))
               : compute_bits(request.argument, arithmetic == Arithmetic::float64);
}

ReductionKernels kernels_of(Arithmetic arithmetic) {
    switch (arithmetic) {
    case Arithmetic::integer:
        return {kernels::reduction_int64.kernel, kernels::reduction_parts_int64.kernel};
    case Arithmetic::float64:
        return {kernels::reduction_float64.kernel, kernels::reduction_parts_float64.kernel};
    case Arithmetic::float32:
        break;
    }
    return {kernels::reduction.kernel, kernels::reduction_parts.kernel};
}

} // namespace

std::uint64_t compute_bits(double value, bool wide) {
    return wide ? std::bit_cast<std::uint64_t>(value)
                : std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(value))};
}

ReductionSchedule schedule_reduction(std::int64_t outputs, std::int64_t reduced, bool elements_adjacent) {
    // Enough workgroups for the largest GPU, at least 16 elements per thread, and no more iterations than a
    // CPU driver runs (one iteration handles at most four elements).
    constexpr std::int64_t wanted_groups = 1024, worthwhile = 16, most = 2 * most_iterations;
    ReductionSchedule schedule;
    schedule.columns_fastest = !elements_adjacent;
    const auto lanes = elements_adjacent ? power_of_two((reduced + 3) / 4, threads)
                                         : power_of_two(threads / power_of_two(outputs, 64),
                                                        power_of_two((reduced + 3) / 4, threads));
    schedule.columns = static_cast<std::uint32_t>(threads) / lanes;
    const std::int64_t groups = kernels::ceil_div(outputs, schedule.columns);
    const std::int64_t useful = std::max<std::int64_t>(reduced / (lanes * worthwhile), 1);
    std::int64_t parts =
        std::clamp<std::int64_t>(wanted_groups / std::max<std::int64_t>(groups, 1), 1, useful);
    parts = std::max(parts, (reduced + lanes * most - 1) / (lanes * most));
    const std::int64_t part_size = (kernels::ceil_div(reduced, parts) + 3) / 4 * 4;
    schedule.parts = parts > 1 ? static_cast<std::uint32_t>(kernels::ceil_div(reduced, part_size)) : 1;
    schedule.part_size = static_cast<std::uint32_t>(part_size);
    schedule.groups = linear_groups(outputs, schedule.columns);
    schedule.groups.z = schedule.parts;
    schedule.merge_columns = power_of_two(outputs, 64);
    schedule.merge_groups = linear_groups(outputs, schedule.merge_columns);
    return schedule;
}

ReductionSchedule schedule_lines(std::int64_t lines, std::int64_t size, bool elements_adjacent,
                                 std::int64_t longest) {
    // Parts read their elements a second time, so they are used only if the lines alone leave most of a GPU
    // idle.
    constexpr std::int64_t few_groups = 64, wanted_groups = 512;
    const std::int64_t worthwhile = longest / 32; // elements per thread
    ReductionSchedule schedule = schedule_reduction(lines, size, elements_adjacent);
    const std::int64_t lanes = threads / schedule.columns;
    const std::int64_t groups = kernels::ceil_div(lines, schedule.columns);
    std::int64_t parts = (size + lanes * longest - 1) / (lanes * longest);
    if (groups < few_groups)
        parts = std::max(parts, std::min(wanted_groups / groups, size / (lanes * worthwhile)));
    parts = std::max<std::int64_t>(parts, 1);
    const std::int64_t tile = lanes * 4;
    const std::int64_t part_size = (kernels::ceil_div(size, parts) + tile - 1) / tile * tile;
    parts = kernels::ceil_div(size, part_size);
    TORCH_CHECK_NOT_IMPLEMENTED(parts <= most_groups, "lines of ", size, " elements in ", parts, " parts");
    schedule.parts = static_cast<std::uint32_t>(parts);
    schedule.part_size = static_cast<std::uint32_t>(part_size);
    schedule.groups = linear_groups(lines, schedule.columns);
    schedule.groups.z = schedule.parts;
    schedule.merge_columns = 1;
    schedule.merge_groups = linear_groups(lines, 1);
    return schedule;
}

std::uint32_t keep_lines(ReductionSchedule& schedule, std::int64_t lines, std::int64_t size) {
    constexpr std::int64_t enough_groups = 512, fewest_lanes = 16;
    if (schedule.parts != 1 || schedule.columns_fastest || size % 4 != 0)
        return 0;
    for (const std::int64_t quads : {4, 2, 1}) {
        const std::int64_t lanes = power_of_two(kernels::ceil_div(size, 4 * quads), threads);
        const std::int64_t columns = threads / lanes;
        const bool fills_gpu = kernels::ceil_div(lines, columns) >= enough_groups;
        // With few lanes per line, memory reads have gaps; with few workgroups, most of a GPU is idle.
        const bool worthwhile = lanes == threads || (lanes >= fewest_lanes && fills_gpu);
        if (lanes * 4 * quads < size || (quads > 1 && !worthwhile))
            continue;
        schedule.columns = static_cast<std::uint32_t>(columns);
        schedule.groups = linear_groups(lines, schedule.columns);
        return static_cast<std::uint32_t>(kernels::ceil_div(size, 4 * lanes));
    }
    return 0;
}

at::Tensor reduction_scratch(const ReductionSchedule& schedule, std::int64_t outputs, c10::Device device) {
    if (schedule.parts == 1)
        return {};
    return at::empty({schedule.parts * outputs * saved_bytes}, at::TensorOptions(device).dtype(at::kByte));
}

void launch_reduction(const ReductionSchedule& schedule, ReductionKernels kernels,
                      std::span<const std::byte> parameters, const at::Tensor& scratch,
                      std::span<const Access> inputs, std::span<const Access> results,
                      PassConstants constants, c10::Device device) {
    std::vector<Access> accesses(inputs.begin(), inputs.end());
    if (schedule.parts == 1) {
        accesses.insert(accesses.end(), results.begin(), results.end());
        launch(device.index(), kernels.first, schedule.groups, parameters, accesses, constants.first);
        return;
    }
    accesses.push_back(writes(scratch));
    launch(device.index(), kernels.first, schedule.groups, parameters, accesses, constants.first);
    std::vector<Access> merged(results.begin(), results.end());
    merged.push_back(reads(scratch));
    launch(device.index(), kernels.merge, schedule.merge_groups, parameters, merged, constants.merge);
}

void reduce(ReductionRequest request) {
    const Arithmetic arithmetic = arithmetic_of(request);
    auto kept = select(request.dimensions, false), reduced = select(request.dimensions, true);
    if (count_of(kept) == 0)
        return;
    if (kept.size() > maximum_rank || reduced.size() > maximum_rank) {
        request = compacted(request, kept, reduced);
        kept = select(request.dimensions, false);
        reduced = select(request.dimensions, true);
    }
    check_order(request, reduced);
    const std::int64_t outputs = count_of(kept), elements = count_of(reduced);
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    TORCH_CHECK_NOT_IMPLEMENTED(outputs <= most && elements <= most, "a reduction of 2^31 elements or more");
    const bool adjacent =
        kept.empty() || (!reduced.empty() && reduced[0].input_stride < kept[0].input_stride);
    const auto schedule = schedule_reduction(outputs, elements, adjacent);
    const at::Tensor scratch = reduction_scratch(schedule, outputs, request.input.device());

    ReductionParameters p = parameters_of(request, kept, reduced);
    p.argument = argument_bits(request, arithmetic);
    p.partial = scratch.defined() ? address(scratch) : 0;
    p.parts = schedule.parts;
    p.part_size = schedule.part_size;
    const kernels::ReductionConstants constants{
        .input_type = dtype_code(request.input.scalar_type()),
        .output_type = dtype_code(request.output.scalar_type()),
        .second_type = dtype_code(request.second.defined() ? request.second.scalar_type() : at::kFloat),
        .kept_rank = static_cast<std::uint32_t>(kept.size()),
        .reduced_rank = static_cast<std::uint32_t>(std::max<std::size_t>(reduced.size(), 1)),
        .wide = exceeds_32_bits(kept, reduced) ? 1u : 0u,
        .operation = static_cast<std::uint32_t>(request.operation),
        .second_result = request.second.defined() ? 1u : 0u,
        .columns = schedule.columns,
        .columns_fastest = schedule.columns_fastest ? 1u : 0u,
        .split = schedule.parts > 1 ? 1u : 0u,
        .vectors = vectors_fit(request, kept, reduced, schedule) ? 1u : 0u,
    };
    c10::SmallVector<Access, 2> results{writes(request.output)};
    if (request.second.defined())
        results.push_back(writes(request.second));
    launch_reduction(schedule, kernels_of(arithmetic), std::as_bytes(std::span(&p, 1)), scratch,
                     std::array{reads(request.input)}, results, constants, request.input.device());
}

ReductionRequest reduction_of(at::TensorIteratorBase& iterator, Reduction operation, double argument) {
    ReductionRequest request{operation, argument, {}, iterator.tensor(0), {}, {}};
    const int input = iterator.noutputs();
    request.input = iterator.tensor(input);
    if (input == 2)
        request.second = iterator.tensor(1);
    const std::int64_t input_bytes = request.input.element_size(),
                       output_bytes = request.output.element_size();
    for (int d = 0; d < iterator.ndim(); ++d) {
        const std::int64_t output_stride = iterator.strides(0)[d] / output_bytes;
        request.dimensions.push_back({iterator.shape()[d], iterator.strides(input)[d] / input_bytes,
                                      output_stride, output_stride == 0 && iterator.shape()[d] != 1});
    }
    return request;
}

ReductionRequest reduction_of(const at::Tensor& output, const at::Tensor& second, const at::Tensor& input,
                              std::int64_t dim, Reduction operation, double argument) {
    ReductionRequest request{operation, argument, input, output, second, {}};
    const bool keeps = output.dim() == input.dim();
    std::int64_t to = 0;
    for (std::int64_t d = 0; d < input.dim(); ++d) {
        const bool reduced = dim == -1 || d == dim;
        request.dimensions.push_back(
            {input.size(d), input.stride(d), reduced ? 0 : output.stride(to), reduced});
        if (keeps || !reduced)
            ++to;
    }
    return request;
}

} // namespace rvk
