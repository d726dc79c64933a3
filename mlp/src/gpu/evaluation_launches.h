#pragma once
/// The launches that evaluate a population.

#include "gpu/launch_budget.h"
#include "gpu/member_arrays.h"
#include "gpu/plan.h"
#include "gpu/samples.h"

#include <rekindle/kernels/kernel.h>
#include <rekindle/runtime/device.h>
#include <rekindle/runtime/stream.h>

#include <cstddef>
#include <span>
#include <vector>

namespace rekindle::mlp::gpu {

/// Each workgroup evaluates 256 rows of one network, so that a member's sum does not depend on what else is
/// evaluated. Refers to the device, the stream and the arrays. Waits for each launch. Not thread-safe.
class EvaluationLaunches {
  public:
    /// plan: for batches of `planned_rows`. outputs: of the network.
    EvaluationLaunches(runtime::Device& device, runtime::Stream& stream, const MemberArrays& arrays,
                       GpuPlan plan, std::size_t planned_rows, std::size_t members, double huber_delta,
                       std::size_t outputs);

    /// The sum of the loss over rows [first, first + count), one per member.
    std::vector<double> losses(const GpuSamples& samples, Array weights, std::size_t first,
                               std::size_t count);
    /// Raw outputs [member][row][output] of members [first_member, first_member + members).
    void predict(const GpuSamples& samples, Array weights, std::size_t first_member, std::size_t members,
                 std::size_t first, std::size_t count, std::span<float> outputs);

  private:
    struct Part {
        std::size_t first_member, members, first_row, rows, chunks;
    };
    template <class Run>
    void for_each_part(std::size_t first_member, std::size_t members, std::size_t first_row, std::size_t rows,
                       std::size_t most_chunks, const Run& run);
    void launch(const Part& part, const GpuSamples& samples, Array weights, const runtime::Buffer* results,
                const runtime::Buffer* outputs);

    runtime::Device& device_;
    runtime::Stream& stream_;
    const MemberArrays& arrays_;
    GpuPlan plan_;
    std::size_t members_, outputs_;
    const kernels::Kernel& kernel_;
    LaunchBudget budget_;     ///< counted in chunks of one network's rows
    runtime::Buffer records_; ///< one MemberRecord per member; the kernel reads only huber_delta
};

} // namespace rekindle::mlp::gpu
