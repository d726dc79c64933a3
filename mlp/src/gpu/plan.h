#pragma once
/// How a population of one model, one training specification and one batch size runs on the GPU: which
/// kernel, with which specialization constants, and how much memory. Independent of any device; the caller
/// passes its limits.
///
/// How training is launched (kernels/population/population.slang; the push constants are its
/// PopulationParameters):
/// - groups: x = min(members, 65535), y = ceil(members / 65535): one workgroup per member;
/// - one launch processes the batches [first_batch, first_batch + batches) of every member's order; the
/// launches of one train() follow each other with increasing first_batch, and records and results are kept
/// between them;
/// - finish = 1 in the last launch of finish_accumulation(), with batches = 0: an incomplete accumulation is
/// applied with the schedule's next row (in the records, rows may be 0, and pending_batches counts the
/// accumulated batches);
/// - gradients(): batches = 1, accumulation_steps = 0xFFFFFFFF, pending_batches = 0, batch_scale =
/// last_batch_scale = float(1 / rows), `pending` and `results` are scratch: the gradient is left in
/// `pending`, nothing else changes.
/// Evaluation (PopulationEvaluateParameters): one workgroup per member and chunk of rows, flattened into x
/// and y in the same way.

#include "gpu/layout.h"

#include <rekindle/kernels/kernel.h>
#include <rekindle/mlp/population.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::mlp::gpu {

/// The maximum number of stages of a network (kernels/population/constants.slang: max_stages).
inline constexpr std::size_t most_stages = 12;

struct DeviceLimits {
    std::uint32_t shared_bytes = 32768; ///< per workgroup
    std::uint32_t threads = 1024;       ///< per workgroup
    /// Threads divide products among them where that takes fewer loads (kernels/population/linear.slang).
    bool divides_products = false;
};

/// One member's numbers; an array of these is at PopulationParameters::members. The host writes it before
/// train() begins; the kernels do not change it.
struct MemberRecord {
    std::uint32_t seed_low = 0, seed_high = 0;   ///< TrainingSpec::seed, keys the dropout masks
    std::uint32_t batch_low = 0, batch_high = 0; ///< batches seen before this call of train()
    std::uint32_t order_first =
        0; ///< the beginning of the member's rows, in elements of PopulationParameters::order
    std::uint32_t rows = 0; ///< in its order in this call; 0: the member does nothing
    std::uint32_t schedule_first =
        0; ///< the beginning of its steps, in rows of PopulationParameters::schedule
    std::uint32_t pending_batches = 0; ///< accumulated before this call
    float batch_scale = 0;             ///< float(1 / (batch size * accumulation steps))
    float last_batch_scale = 0;        ///< the same for its last batch, which may be smaller
    float clip_norm = 0;               ///< TrainingSpec::clip_norm
    float huber_delta = 1;
    float one_minus_beta1 = 0, beta2 = 0, one_minus_beta2 = 0, epsilon = 0; ///< AdamW
    float momentum = 0, weight_decay = 0;                                   ///< SGD
    float average_rate = 0;                                                 ///< float(1 - ema_decay)
    std::uint32_t dropout_thresholds[most_stages] = {}; ///< of each stage; TrainingLaunches sets them
    std::uint32_t reserved = 0;
    float dropout_scales[most_stages] = {};
    std::uint32_t also_reserved[4] = {};
};
static_assert(sizeof(MemberRecord) == 192);

/// The numbers of one optimizer step; PopulationParameters::schedule is an array of these, [group of
/// members][step].
struct StepRecord {
    float step_size = 0;               ///< AdamW: rate / (1 - beta1^step); SGD: the rate
    float inverse_sqrt_correction = 0; ///< AdamW: 1 / sqrt(1 - beta2^step)
    float decay = 1;                   ///< AdamW: 1 - rate * weight_decay
    float reserved = 0;
};
static_assert(sizeof(StepRecord) == 16);

/// Read and written by every launch; the host zeroes it before train() begins. A member that has stopped does
/// nothing in later launches.
struct ResultRecord {
    float loss_high = 0, loss_low = 0; ///< their sum is the sum of the losses
    std::uint32_t rows = 0, steps = 0;
    float last_gradient_norm = 0;
    std::uint32_t stopped =
        0; ///< 1: a loss or a gradient was not finite; parameters are those of the previous step
    std::uint32_t batches = 0;
    std::uint32_t pending_batches = 0; ///< accumulated and not yet applied
};
static_assert(sizeof(ResultRecord) == 32);

/// Number of loss sums (pairs of floats) per member at PopulationParameters::losses, one per row of a block;
/// the host zeroes these, too.
inline constexpr std::size_t loss_sums = 64;

/// Evaluation: one workgroup per member and chunk of rows; an array [member][chunk] lies at
/// PopulationEvaluateParameters::results.
struct EvaluationRecord {
    float loss_high = 0, loss_low = 0;
};

/// mlp::dropout_threshold and mlp::dropout_scale of a member's stages; zeros for a stage without dropout.
struct StageDropouts {
    std::array<std::uint32_t, most_stages> thresholds{};
    std::array<float, most_stages> scales{};
};

struct GpuPlan {
    /// If not empty: one sentence that says why this model cannot be trained here, and everything else is
    /// empty.
    std::string refusal;
    std::string_view train_kernel, evaluate_kernel; ///< names in kernels.json
    std::vector<kernels::ConstantValue> constants;  ///< all of them, for both
    /// Which of the network's dropout layers each stage applies, or no_dropout. The rates are not among the
    /// constants: networks that differ only in their rates use the same pipelines.
    std::array<std::uint32_t, most_stages> dropouts{};
    /// rates: one for each of the network's dropout layers. A layer whose rate was 0 in the planned network
    /// is not applied, whatever its rate here.
    StageDropouts stage_dropouts(std::span<const double> rates) const;
    std::uint32_t threads = 0; ///< per workgroup
    std::uint32_t shared_bytes = 0;
    std::uint32_t block_rows = 0;  ///< rows that go through forward and backward together
    std::uint32_t blocks = 0;      ///< per full batch
    std::uint32_t input_quads = 0; ///< a row of inputs is this many quads, 16-byte aligned, its padding zero
    bool weights_in_shared = false;
    /// Size of the parameters, each moment, the average and the pending gradient.
    std::size_t member_floats = 0;
    std::size_t transposed_floats = 0; ///< scratch per member for PopulationParameters::transposed; may be 0
    bool first_moment = false, second_moment = false, average = false; ///< arrays that must exist
    /// The array for the pending gradient must exist (accumulation, or gradients that do not fit into
    /// registers). gradients() always writes one.
    bool pending = false;
    /// Multiply-adds of one optimizer step of one member, for bounding the work of a launch.
    double work_per_step = 0;
};

/// Where a member's data is kept while its workgroup trains.
enum class Storage {
    resident, ///< weights in shared memory, gradients and moments in registers
    shared,   ///< weights in shared memory, gradients in registers, moments in memory
    cached,   ///< weights and moments in memory, gradients in registers
    memory,   ///< everything in memory
};

/// One way to arrange a kernel; plan_population() chooses among these.
struct Variant {
    std::uint32_t threads = 128; ///< 32, 64, 128, 256 or 512
    Storage storage = Storage::resident;
    std::uint32_t most_rows = 64; ///< per block
};

/// The plan for one variant; empty if it does not fit the device, the registers or the kernels.
std::optional<GpuPlan> plan_variant(const ModelDescription& model, const TrainingSpec& training,
                                    std::size_t batch_size, const DeviceLimits& limits,
                                    const Variant& variant);

/// `training`: any member's, because only settings that all members share matter. Throws nothing but
/// bad_alloc. Precondition: model and training pass validate() and cpu::Plan accepts them.
GpuPlan plan_population(const ModelDescription& model, const TrainingSpec& training, std::size_t batch_size,
                        const DeviceLimits& limits, GpuShape shape);

} // namespace rekindle::mlp::gpu
