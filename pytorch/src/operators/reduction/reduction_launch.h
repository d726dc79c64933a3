#pragma once
/// Launches the reductions of kernels/reduction.

#include "../../dispatch/launch.h"

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rvk {

/// Numbered as in kernels/reduction/operations.slang.
enum class Reduction : std::uint32_t {
    sum,
    mean, ///< argument: the divisor
    product,
    maximum,
    minimum,
    any,
    all,
    argmax, ///< of one dimension or a contiguous tensor; second result: the value there
    argmin,
    nonzero,
    norm_1,
    norm_2,
    norm_max,
    norm_min,
    norm_p,   ///< argument: p, neither 0 nor infinite
    variance, ///< argument: the correction; second result: the mean
    std,      ///< square root of the variance; argument and second result as for the variance
    extremes, ///< the smallest; second result: the largest
    nan_sum,
};

/// One dimension of the input; strides in elements.
struct ReductionDimension {
    std::int64_t size = 1, input_stride = 0;
    std::int64_t output_stride = 0; ///< of both results; ignored if `reduced`
    bool reduced = false;
};

struct ReductionRequest {
    Reduction operation = Reduction::sum;
    double argument = 0;
    at::Tensor input, output, second; ///< second may be undefined
    c10::SmallVector<ReductionDimension, 8> dimensions;
};

/// Queues the reduction. Without reduced elements, the results are those of an empty reduction (0, 1, NaN,
/// …). Throws c10::NotImplementedError for complex dtypes, float64 if the device does not support it, and
/// 2^31 or more results, or elements per result.
void reduce(ReductionRequest request);

/// The request for an iterator from PyTorch's make_reduction: an output stride of 0 marks a reduced
/// dimension.
ReductionRequest reduction_of(at::TensorIteratorBase& iterator, Reduction operation, double argument = 0);

/// The request that reduces dimension `dim` of `input` (-1: all); the results have its shape with or without
/// the reduced dimension, and `second`, when defined, the strides of `output`.
ReductionRequest reduction_of(const at::Tensor& output, const at::Tensor& second, const at::Tensor& input,
                              std::int64_t dim, Reduction operation, double argument = 0);

/// How the reduction is distributed over workgroups (kernels/reduction/lanes.slang).
struct ReductionSchedule {
    std::uint32_t columns = 1;
    bool columns_fastest = false;
    std::uint32_t parts = 1;
    std::uint32_t part_size = 0; ///< a multiple of 4
    Groups groups;               ///< of the first pass
    std::uint32_t merge_columns = 1;
    Groups merge_groups; ///< of the second pass, if there are parts
};

/// elements_adjacent: in memory, elements of the same result are adjacent, rather than elements of
/// neighboring results.
ReductionSchedule schedule_reduction(std::int64_t outputs, std::int64_t reduced, bool elements_adjacent);

/// For lines with a result for every element (kernels/reduction/parts.slang): one pass with one part, or
/// passes over the parts and one that merges them. `longest`: the most elements per thread in a part.
ReductionSchedule schedule_lines(std::int64_t lines, std::int64_t size, bool elements_adjacent,
                                 std::int64_t longest);

/// Changes a schedule of adjacent elements so that the lanes of a line keep it in registers
/// (kernels/normalization/kept_row.slang). Returns the number of quads (four elements) per lane. Returns 0
/// and changes nothing if lines are too long, are divided into parts, or are not a multiple of four elements.
std::uint32_t keep_lines(ReductionSchedule& schedule, std::int64_t lines, std::int64_t size);

/// Scratch memory for the states between the two passes; undefined with one part.
at::Tensor reduction_scratch(const ReductionSchedule& schedule, std::int64_t outputs, c10::Device device);

/// The kernels of the first pass and of the second, which merges the parts.
struct ReductionKernels {
    const kernels::Kernel& first;
    const kernels::Kernel& merge;
};

/// The specialization constants of the first pass and of the second.
struct PassConstants {
    std::span<const kernels::ConstantValue> first, merge;
};

/// Queues one pass, or two if the schedule has parts. inputs: read by the first pass; results: written by the
/// last pass. parameters.partial is the address of `scratch`.
void launch_reduction(const ReductionSchedule& schedule, ReductionKernels kernels,
                      std::span<const std::byte> parameters, const at::Tensor& scratch,
                      std::span<const Access> inputs, std::span<const Access> results,
                      PassConstants constants, c10::Device device);
/// The same with a family's struct of constants for the first pass, such as kernels::ReductionConstants; the
/// second pass uses them with its own columns, `columns_fastest`, and without `split` and `vectors`.
template <kernels::ConstantsStruct C>
void launch_reduction(const ReductionSchedule& schedule, ReductionKernels kernels,
                      std::span<const std::byte> parameters, const at::Tensor& scratch,
                      std::span<const Access> inputs, std::span<const Access> results, const C& constants,
                      c10::Device device) {
    C of_merge = constants;
    of_merge.columns = schedule.merge_columns;
    of_merge.columns_fastest = 1;
    of_merge.split = of_merge.vectors = 0;
    const auto first = constants.list(), merge = of_merge.list();
    launch_reduction(schedule, kernels, parameters, scratch, inputs, results, PassConstants{first, merge},
                     device);
}

/// The bits of a number in the type that a family computes in: float64 if `wide`, else float32.
std::uint64_t compute_bits(double value, bool wide);

} // namespace rvk
