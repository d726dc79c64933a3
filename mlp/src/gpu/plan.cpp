#include "gpu/plan.h"

#include "gpu/stages.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/population.h>
#include <rekindle/kernels/families/population_deep.h>
#include <rekindle/mlp/dropout.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace rekindle::mlp::gpu {

namespace {

constexpr std::uint32_t widest = 512;
constexpr std::uint32_t most_rows = 64; ///< per block
/// Loads are issued ahead of their use if at most this many registers per thread hold gradients and moments.
constexpr std::uint32_t most_kept_with_loads = 80;
/// Networks with at most this many stages use kernels that compile in less time.
constexpr std::size_t shallow_stages = kernels::PopulationConstants{}.stage.size();
static_assert(most_stages == kernels::PopulationDeepConstants{}.stage.size());
/// kernels/population/ownership.slang: slots
constexpr std::uint32_t tile_slots = kernels::PopulationConstants{}.slot.size();
constexpr std::uint32_t vector_slots = 2; ///< in the same file: vector_slots
constexpr std::uint32_t most_row_lanes = 16, least_row_lanes = 4;
constexpr std::uint32_t sum_quads = 8; ///< needed at scratch_at by the kernels' sums over the workgroup

std::string_view kernel_name(std::uint32_t threads, bool trains, bool deep) {
    static constexpr std::string_view names[2][2][5] = {
        {{"evaluate_population_32", "evaluate_population_64", "evaluate_population_128",
          "evaluate_population_256", "evaluate_population_512"},
         {"train_population_32", "train_population_64", "train_population_128", "train_population_256",
          "train_population_512"}},
        {{"evaluate_deep_population_32", "evaluate_deep_population_64", "evaluate_deep_population_128",
          "evaluate_deep_population_256", "evaluate_deep_population_512"},
         {"train_deep_population_32", "train_deep_population_64", "train_deep_population_128",
          "train_deep_population_256", "train_deep_population_512"}}};
    return names[deep][trains][std::countr_zero(threads / 32)];
}

std::uint32_t log2_of(std::uint32_t power_of_two) {
    return static_cast<std::uint32_t>(std::countr_zero(power_of_two));
}

/// Why no kernel supports the model, or "".
std::string refusal_of(const Network& network, const TrainingSpec& training) {
    if (training.bf16_storage)
        return "bf16_storage is not supported on a GPU yet";
    std::uint32_t width = network.inputs;
    for (const Stage& s : network.stages)
        width = std::max(width, s.width);
    if (width > widest)
        return "a layer of " + std::to_string(width) + " units is wider than " + std::to_string(widest) +
               ", the limit of the GPU's kernels";
    if (network.stages.size() > most_stages)
        return "the network needs " + std::to_string(network.stages.size()) +
               " stages, and the GPU's kernels support at most " + std::to_string(most_stages);
    return {};
}

/// Computes the plan of one candidate.
class Planner {
  public:
    Planner(const Network& network, const Layout& layout, const TrainingSpec& training,
            std::size_t batch_size, const DeviceLimits& limits)
        : network_(network), layout_(layout), training_(training), batch_(batch_size), limits_(limits) {}

    /// Empty if it does not fit the device or the registers.
    std::optional<GpuPlan> plan(const Variant& variant) {
        threads_ = variant.threads;
        storage_ = variant.storage;
        if (threads_ > limits_.threads || !registers_hold())
            return std::nullopt;
        for (bool vectors_in_shared : {true, false}) {
            vectors_in_shared_ = vectors_in_shared;
            if (weights_in_shared() && !vectors_in_shared)
                break;
            if (fit_rows(variant.most_rows))
                return result();
        }
        return std::nullopt;
    }

  private:
    bool weights_in_shared() const { return storage_ == Storage::resident || storage_ == Storage::shared; }
    bool moments_in_registers() const { return storage_ == Storage::resident; }
    bool gradients_in_registers() const { return storage_ != Storage::memory; }

    std::uint32_t slots_used() const {
        std::uint32_t slots = 0;
        for (const Stage& s : network_.stages)
            slots += kernels::ceil_div(s.tiles(), threads_);
        return slots;
    }
    bool registers_hold() {
        loads_ahead_ = false;
        if (!gradients_in_registers()) {
            loads_ahead_ = threads_ < 512;
            return true;
        }
        // GCN has too few scalar registers to train many stages with gradients in registers.
        if (network_.stages.size() > shallow_stages)
            return false;
        const std::uint32_t tiles = slots_used(),
                            vectors = kernels::ceil_div(layout_.vector_quads(), threads_);
        if (tiles > tile_slots || vectors > vector_slots)
            return false;
        const OptimizerSpec& o = training_.optimizer;
        const std::uint32_t moments = o.kind == OptimizerSpec::Kind::adamw ? 2 : o.momentum > 0 ? 1 : 0;
        const std::uint32_t kept = (16 * tiles + 4 * vectors) * (moments_in_registers() ? 1 + moments : 1);
        // On the smallest register files, a workgroup of 512 threads has 128 registers per thread; a smaller
        // one has 256.
        const std::uint32_t for_kept = threads_ == 512 ? 48 : 168;
        loads_ahead_ = threads_ < 512 && kept <= most_kept_with_loads;
        return kept <= for_kept;
    }

    /// The maximum number of threads that share a row in norms and in the head.
    std::uint32_t lanes_for(std::uint32_t rows) const {
        std::uint32_t widest_row = quads(network_.head.width);
        for (const Stage& s : network_.stages)
            if (s.core == Core::layer_norm)
                widest_row = std::max(widest_row, quads(s.width));
        return std::max(
            1u, std::min({most_row_lanes, std::bit_floor(threads_ / rows), std::bit_ceil(widest_row)}));
    }
    std::uint32_t shared_weight_quads() const {
        std::uint32_t total = 0;
        for (const Stage& s : network_.stages)
            if (s.core == Core::linear)
                total += 4 * quads(s.inputs) * row_stride(quads(s.width));
        return total;
    }
    /// A multiple of 4, so that what follows in shared memory begins at a multiple of 16 bytes.
    std::uint32_t scalar_count() const {
        return kernels::ceil_div(rows_ + std::max(threads_, 2 * rows_ * lanes_), 4u) * 4;
    }
    std::uint32_t shared_bytes() const {
        constexpr std::uint32_t dropouts = (sizeof(std::uint32_t) + sizeof(float)) * most_stages;
        return 16 * arena_quads_ + dropouts + 4 * scalar_count() + 16;
    }

    /// Finds the fewest blocks whose rows fit into shared memory.
    bool fit_rows(std::uint32_t most) {
        const std::uint32_t limit = std::min({most, most_rows, threads_});
        std::uint32_t last = 0;
        for (std::uint32_t block_count = kernels::ceil_div(static_cast<std::uint32_t>(batch_), limit);;
             ++block_count) {
            const std::uint32_t even = kernels::ceil_div(static_cast<std::uint32_t>(batch_), block_count);
            const std::uint32_t rows = std::min(even < 4 ? even : (even + 3) / 4 * 4, limit);
            if (rows == last)
                continue;
            last = rows_ = rows;
            blocks_ = kernels::ceil_div(static_cast<std::uint32_t>(batch_), rows_);
            for (const bool divides : {true, false})
                if ((limits_.divides_products || !divides) && fits(divides))
                    return true;
            if (rows_ == 1)
                return false;
        }
    }

    /// Places the values of blocks of rows_ rows.
    bool fits(bool divides) {
        network_.place(rows_, divides ? threads_ : 0);
        // If moments are in memory, an H200 takes 2 % longer when biases are computed beside weights.
        network_.assign_vectors(threads_, divides || moments_in_registers());
        scratch_at_ = (weights_in_shared() ? shared_weight_quads() : 0) +
                      (vectors_in_shared_ ? layout_.vector_quads() : 0);
        for (lanes_ = lanes_for(rows_);; lanes_ /= 2) {
            head_at_ = scratch_at_ + std::max(sum_quads, rows_);
            arena_quads_ = head_at_ + rows_ + network_.activation_quads;
            if (shared_bytes() <= limits_.shared_bytes)
                return true;
            if (lanes_ <= least_row_lanes)
                return false;
        }
    }

    /// C: PopulationConstants or PopulationDeepConstants; training and evaluation use the same ones.
    template <class C>
    std::vector<kernels::ConstantValue> constants() const {
        C constants = network_constants<C>();
        add_stages(constants);
        const auto list = constants.list();
        return {list.begin(), list.end()};
    }

    template <class C>
    C network_constants() const {
        const std::uint32_t activations = head_at_ + rows_;
        const OptimizerSpec& o = training_.optimizer;
        const Head& h = network_.head;
        return {.threads = threads_,
                .input_quads = quads(network_.inputs),
                .stage_count = static_cast<std::uint32_t>(network_.stages.size()),
                .block_rows = rows_,
                .blocks = blocks_,
                .member_quads = static_cast<std::uint32_t>(layout_.floats() / 4),
                .weight_quads = layout_.weight_quads(),
                .transposed_quads = weights_in_shared() ? 0 : network_.transposed_quads,
                .loss_kind = static_cast<std::uint32_t>(training_.loss.kind),
                .optimizer_kind = o.kind == OptimizerSpec::Kind::adamw ? 0u
                                  : o.momentum > 0                     ? 2u
                                                                       : 1u,
                .clipping = training_.clip_norm > 0,
                .averaging = training_.ema_decay > 0,
                .gradients_in_registers = gradients_in_registers(),
                .moments_in_registers = moments_in_registers(),
                .weights_in_shared = weights_in_shared(),
                .loads_ahead = !weights_in_shared() && loads_ahead_,
                .vectors_in_shared = vectors_in_shared_,
                .arena_quads = arena_quads_,
                .scalar_count = scalar_count(),
                .input_at = activations + network_.input_at,
                .vectors_at = weights_in_shared() ? shared_weight_quads() : 0,
                .scratch_at = scratch_at_,
                .head_at = head_at_,
                .row_lanes = lanes_,
                .head_linear = h.linear,
                .head_outputs = h.outputs,
                .head_width = h.width,
                .head_vectors = h.vectors,
                .head_first_owner = h.first_owner,
                .head_input_at = activations + h.input_at,
                .head_gradient_at = activations + h.gradient_at,
                .head_form = static_cast<std::uint32_t>(h.epilogue) << 6 | std::uint32_t{h.input_gradient}
                                                                               << 10};
    }

    template <class C>
    void add_stages(C& constants) const {
        std::uint32_t slot = 0, shared = 0;
        for (std::size_t i = 0; i < network_.stages.size(); ++i) {
            const Stage& s = network_.stages[i];
            constants.stage[i] = stage_constants<typename C::Stage>(s, slot, shared);
            if (gradients_in_registers())
                for (std::uint32_t tile = 0; tile < s.tiles(); tile += threads_)
                    constants.slot[slot++] = slot_constants<typename C::Slot>(s, shared, tile);
            if (s.core == Core::linear)
                shared += 4 * quads(s.inputs) * row_stride(quads(s.width));
        }
    }

    template <class StageConstants>
    StageConstants stage_constants(const Stage& s, std::uint32_t first_slot,
                                   std::uint32_t shared_weights) const {
        const std::uint32_t activations = head_at_ + rows_;
        const bool norm = s.core == Core::layer_norm;
        return {.form = static_cast<std::uint32_t>(s.core) | static_cast<std::uint32_t>(s.function) << 3 |
                        static_cast<std::uint32_t>(s.epilogue) << 6 | std::uint32_t{s.drops()} << 8 |
                        std::uint32_t{s.keeps_derivative} << 9 | std::uint32_t{s.input_gradient} << 10 |
                        log2_of(s.forward_parts) << 11 | log2_of(s.backward_parts) << 13,
                .inputs = s.inputs,
                .width = s.width,
                .input_at = activations + s.input_at,
                .value_at = activations + s.value_at,
                .gradient_at = activations + s.gradient_at,
                .input_gradient_at = activations + s.input_gradient_at,
                .extra_at = activations + s.extra_at,
                .rstd_at = norm ? activations + s.rstd_at : 0,
                .forward_partials_at = s.forward_parts > 1 ? activations + s.forward_partials_at : 0,
                .backward_partials_at = s.backward_parts > 1 ? activations + s.backward_partials_at : 0,
                .weights = s.weights,
                .shared_weights = shared_weights,
                .transposed = s.transposed,
                .vectors = s.vectors,
                .first_owner = s.first_owner,
                .first_slot = first_slot,
                .dropout_layer = s.dropout_layer,
                .epsilon = norm ? std::bit_cast<std::uint32_t>(s.epsilon) : 0};
    }

    template <class SlotConstants>
    SlotConstants slot_constants(const Stage& s, std::uint32_t shared_weights,
                                 std::uint32_t first_tile) const {
        const bool transposed = s.input_gradient && !weights_in_shared();
        return {.weights = s.weights,
                .shared_weights = weights_in_shared() ? shared_weights : 0,
                .transposed = transposed ? 1 + s.transposed : 0,
                .columns = quads(s.width),
                .inputs = quads(s.inputs),
                .first_tile = first_tile};
    }

    GpuPlan result() {
        plan_ = {};
        const bool deep = network_.stages.size() > shallow_stages;
        plan_.train_kernel = kernel_name(threads_, true, deep);
        plan_.evaluate_kernel = kernel_name(threads_, false, deep);
        plan_.constants =
            deep ? constants<kernels::PopulationDeepConstants>() : constants<kernels::PopulationConstants>();
        plan_.dropouts.fill(no_dropout);
        for (std::size_t number = 0; number < network_.stages.size(); ++number)
            plan_.dropouts[number] = network_.stages[number].dropout;
        plan_.threads = threads_;
        plan_.shared_bytes = shared_bytes();
        plan_.block_rows = rows_;
        plan_.blocks = blocks_;
        plan_.input_quads = quads(network_.inputs);
        plan_.weights_in_shared = weights_in_shared();
        plan_.member_floats = layout_.floats();
        plan_.transposed_floats = weights_in_shared() ? 0 : 4 * std::size_t{network_.transposed_quads};
        const OptimizerSpec& o = training_.optimizer;
        plan_.first_moment = o.kind == OptimizerSpec::Kind::adamw || o.momentum > 0;
        plan_.second_moment = o.kind == OptimizerSpec::Kind::adamw;
        plan_.average = training_.ema_decay > 0;
        plan_.pending = training_.accumulation_steps > 1 || !gradients_in_registers();
        plan_.work_per_step = 3.0 * static_cast<double>(layout_.floats()) *
                              static_cast<double>(batch_ * training_.accumulation_steps);
        return plan_;
    }

    Network network_;
    const Layout& layout_;
    const TrainingSpec& training_;
    std::size_t batch_;
    DeviceLimits limits_;
    std::uint32_t threads_ = 0;
    Storage storage_{};
    bool vectors_in_shared_ = true, loads_ahead_ = false;
    std::uint32_t rows_ = 0, blocks_ = 0, lanes_ = 0, scratch_at_ = 0, head_at_ = 0, arena_quads_ = 0;
    GpuPlan plan_;
};

/// The candidates, best first as measured on an H200: with few tiles, few threads keep barriers short.
std::vector<Variant> preferences(const Network& network, GpuShape shape) {
    std::uint32_t tiles = 0;
    for (const Stage& s : network.stages)
        tiles += s.tiles();
    std::vector<std::uint32_t> threads;
    // With many stages, the kernels of 32 threads need more scalar registers than the oldest GPUs have.
    if (tiles <= 96 && network.stages.size() <= 3)
        threads = {32, 64, 128, 256, 512};
    else if (tiles <= 96)
        threads = {64, 128, 256, 512};
    else if (tiles <= 256)
        threads = {128, 256, 64, 512};
    else if (shape == GpuShape::throughput || tiles <= 2048)
        threads = {256, 128, 512, 64};
    else
        threads = {512, 256, 128, 64};
    std::vector<Variant> order;
    for (const Storage storage : {Storage::resident, Storage::shared, Storage::cached, Storage::memory})
        for (const std::uint32_t count : threads)
            order.push_back({count, storage, most_rows});
    return order;
}

} // namespace

StageDropouts GpuPlan::stage_dropouts(std::span<const double> rates) const {
    StageDropouts result;
    for (std::size_t number = 0; number < most_stages; ++number)
        if (dropouts[number] != no_dropout) {
            const double rate = rates[dropouts[number]];
            result.thresholds[number] = dropout_threshold(rate);
            result.scales[number] = dropout_scale(rate);
        }
    return result;
}

std::optional<GpuPlan> plan_variant(const ModelDescription& model, const TrainingSpec& training,
                                    std::size_t batch_size, const DeviceLimits& limits,
                                    const Variant& variant) {
    const Layout layout(model);
    const Network network = network_of(model, layout);
    if (!refusal_of(network, training).empty())
        return std::nullopt;
    return Planner(network, layout, training, batch_size, limits).plan(variant);
}

GpuPlan plan_population(const ModelDescription& model, const TrainingSpec& training, std::size_t batch_size,
                        const DeviceLimits& limits, GpuShape shape) {
    const Layout layout(model);
    const Network network = network_of(model, layout);
    GpuPlan refused;
    refused.refusal = refusal_of(network, training);
    if (!refused.refusal.empty())
        return refused;
    Planner planner(network, layout, training, batch_size, limits);
    // Accepts blocks of fewer than 8 rows only if no variant has larger ones: they load every weight for
    // little work, so larger blocks with the weights in memory are faster.
    for (const std::size_t least_rows : {std::min<std::size_t>(batch_size, 8), std::size_t{1}})
        for (const Variant& variant : preferences(network, shape))
            if (auto plan = planner.plan(variant); plan && plan->block_rows >= least_rows)
                return *plan;
    refused.refusal = "one row of the network's values does not fit into the " +
                      std::to_string(limits.shared_bytes) + " bytes of shared memory that a workgroup has";
    return refused;
}

} // namespace rekindle::mlp::gpu
