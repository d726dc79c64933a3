#pragma once
/// The launches that train a population with one batch size.

#include "gpu/launch_budget.h"
#include "gpu/member_arrays.h"
#include "gpu/plan.h"
#include "gpu/samples.h"
#include "gpu/tables.h"

#include <rekindle/base/thread_pool.h>
#include <rekindle/kernels/families/population.h>
#include <rekindle/kernels/kernel.h>
#include <rekindle/runtime/device.h>
#include <rekindle/runtime/stream.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rekindle::mlp::gpu {

/// Refers to the device, the stream and the arrays. A call splits its work into launches of at most about a
/// tenth of a second and waits for each. Not thread-safe.
class TrainingLaunches {
  public:
    /// dropouts: of each member. work_per_batch: multiply-adds for one network. Precondition: plan.refusal is
    /// empty.
    TrainingLaunches(runtime::Device& device, runtime::Stream& stream, MemberArrays& arrays, GpuPlan plan,
                     std::vector<StageDropouts> dropouts, std::size_t batch_size, double work_per_batch);

    /// Runs all batches of the tables; one result per member. finish: an incomplete accumulation is applied
    /// afterwards. Throws Error when a row is not among the samples, before anything is trained, and when the
    /// driver did not run every batch.
    std::vector<ResultRecord> train(const GpuSamples* samples, const TrainingTables& tables,
                                    std::size_t accumulation_steps, bool finish);
    /// The gradient of one batch, in the layout of cpu::Plan. tables: for one member, with only that
    /// batch.
    std::vector<float> gradients(const GpuSamples& samples, std::size_t member, const TrainingTables& tables);

  private:
    struct Call;
    /// Throws Error (internal) when a row is not below `rows`.
    runtime::Buffer uploaded_orders(const TrainingTables& tables, std::size_t rows);
    /// Copies the rows to `to` as the tables specify; returns the largest row.
    std::uint32_t copy_orders(const TrainingTables& tables, std::span<std::uint32_t> to);
    Call begin(const GpuSamples* samples, const TrainingTables& tables, std::size_t accumulation_steps,
               bool finish, std::size_t first_member);
    /// The work of one launch: the batches [first_batch, first_batch + batches) of these members' orders.
    struct Part {
        std::size_t first_member, members, first_batch, batches;
    };
    kernels::PopulationParameters parameters_of(const Call& call, const Part& part) const;
    std::vector<runtime::Access> accesses_of(const Call& call, const Part& part) const;
    void launch(Call& call, const Part& part);
    std::uint64_t transposed_bytes() const {
        return plan_.transposed_floats * sizeof(float);
    } ///< of a member

    runtime::Device& device_;
    runtime::Stream& stream_;
    MemberArrays& arrays_;
    GpuPlan plan_;
    std::vector<StageDropouts> dropouts_;
    std::size_t batch_size_;
    const kernels::Kernel& train_;
    bool train_is_prepared_ = false;
    LaunchBudget budget_;
    std::size_t most_batches_;         ///< per launch
    runtime::Buffer transposed_;       ///< scratch for every member
    std::unique_ptr<ThreadPool> pool_; ///< created when there are many rows to copy
};

} // namespace rekindle::mlp::gpu
