#include "recurrent_walk.h"

#include "../../dispatch/launch.h"
#include "../../dispatch/limits.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/recurrent_layer.h>
#include <rekindle/kernels/families/recurrent_layer_float64.h>

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/stack.h>
#include <algorithm>
#include <optional>
#include <vector>

namespace rvk {

namespace {

using at::Tensor;

// As in kernels/recurrent/recurrent_layer.slang.
constexpr std::int64_t threads = 512, most_items = 2, block_depth = 8, shared_bytes = 32'768;

std::int64_t round_up(std::int64_t number, std::int64_t multiple) {
    return kernels::ceil_div(number, multiple) * multiple;
}

std::int64_t sum_bytes(const RecurrentSizes& sizes) {
    return sizes.dtype == at::kDouble ? 8 : 4;
}

/// How the work of a layer is divided among workgroups and threads.
struct Plan {
    std::int64_t rows;           ///< of the batch, per workgroup
    std::int64_t items;          ///< hidden units per thread
    std::int64_t depth, columns; ///< of the padded weight
    std::int64_t parts;          ///< threads that share a column
    std::int64_t groups;

    /// Bytes of the weight that all workgroups together read in a step.
    std::int64_t bytes_per_step(const RecurrentSizes& sizes) const {
        return groups * depth * columns * sum_bytes(sizes);
    }
    /// Iterations of all loops in one time step, with a margin for the tests that end loops, which count,
    /// too.
    std::int64_t iterations_per_step() const {
        const std::int64_t passes = kernels::ceil_div(columns / 4, threads);
        const std::int64_t of_pass = kernels::ceil_div(depth / block_depth, parts) + 2;
        return 3 + passes * (of_pass + 1) + items * (parts + 2);
    }
    /// Steps per launch, few enough for most_iterations and for the driver's watchdog on slow devices, which
    /// read about 50 GB/s.
    std::int64_t steps(const RecurrentSizes& sizes) const {
        constexpr std::int64_t most_bytes = std::int64_t{1} << 32;
        return std::max<std::int64_t>(
            1, std::min(most_bytes / bytes_per_step(sizes), (most_iterations - 100) / iterations_per_step()));
    }
};

/// The plan for this number of rows, if a workgroup's threads and shared memory suffice for it.
std::optional<Plan> plan_for(const RecurrentSizes& sizes, bool forward, std::int64_t rows) {
    const std::int64_t gates = gate_count(sizes.cell) * sizes.hidden;
    Plan plan{};
    plan.rows = rows;
    plan.items = kernels::ceil_div(rows * sizes.hidden, threads);
    plan.depth = round_up(forward ? sizes.hidden : gates, block_depth);
    plan.columns = round_up(forward ? gates : sizes.hidden, 4);
    plan.groups = kernels::ceil_div(sizes.batch, rows) * sizes.directions;
    const std::int64_t room = shared_bytes / sum_bytes(sizes) - rows * plan.depth;
    plan.parts = std::min({std::max<std::int64_t>(1, threads / (plan.columns / 4)), plan.depth / block_depth,
                           room / (rows * plan.columns)});
    if (plan.items > most_items || plan.parts < 1)
        return std::nullopt;
    return plan;
}

/// Each workgroup reads the whole weight in each step, so more rows per workgroup reduce the total traffic.
/// However, a compute unit's bandwidth is limited, so a step takes at least as long as one workgroup's reads.
/// Half of the compute units saturate the cache: workgroups take more rows only while there are more
/// workgroups than that.
std::optional<Plan> make_plan(const RecurrentSizes& sizes, bool forward) {
    const std::int64_t units = device_info(sizes.device.index()).can.compute_units;
    const std::int64_t most_groups = units > 0 ? (units + 1) / 2 : 64;
    std::int64_t rows = 1;
    if (sizes.dtype != at::kDouble)
        while (rows < 4 && kernels::ceil_div(sizes.batch, rows) * sizes.directions > most_groups)
            rows *= 2;
    for (; rows > 0; rows /= 2)
        if (const auto plan = plan_for(sizes, forward, rows))
            return plan;
    return std::nullopt;
}

const kernels::Kernel& kernel_of(const RecurrentSizes& sizes, const Plan& plan, bool forward) {
    using namespace kernels;
    if (sizes.dtype == at::kDouble)
        return forward ? recurrent_layer_1_float64.kernel : recurrent_layer_backward_1_float64.kernel;
    switch (plan.rows) {
    case 1:
        return forward ? recurrent_layer_1.kernel : recurrent_layer_backward_1.kernel;
    case 2:
        return forward ? recurrent_layer_2.kernel : recurrent_layer_backward_2.kernel;
    default:
        return forward ? recurrent_layer_4.kernel : recurrent_layer_backward_4.kernel;
    }
}

/// The dtype of the matrices that the kernel multiplies by: converting float16 takes longer than reading
/// float32.
at::ScalarType weight_type(at::ScalarType dtype) {
    return dtype == at::kHalf ? at::kFloat : dtype;
}

kernels::RecurrentLayerParameters parameters_of(const RecurrentSizes& sizes, const Plan& plan,
                                                const Walk& walk) {
    kernels::RecurrentLayerParameters p{};
    p.gates = address(walk.gates);
    p.output = address(walk.output);
    p.second = walk.second.defined() ? address(walk.second) : 0;
    p.weight = address(walk.weight);
    p.carry = address(walk.carry);
    p.batch = static_cast<std::uint32_t>(sizes.batch);
    p.hidden = static_cast<std::uint32_t>(sizes.hidden);
    p.directions = static_cast<std::uint32_t>(sizes.directions);
    p.length = static_cast<std::uint32_t>(sizes.length);
    p.depth = static_cast<std::uint32_t>(plan.depth);
    p.columns = static_cast<std::uint32_t>(plan.columns);
    p.parts = static_cast<std::uint32_t>(plan.parts);
    return p;
}

struct Steps {
    std::int64_t first, count;
};

void launch_steps(const RecurrentSizes& sizes, const Plan& plan, bool forward, const Steps& steps,
                  kernels::RecurrentLayerParameters p, std::span<const Access> accesses, bool has_bias,
                  bool keeps) {
    p.first = static_cast<std::uint32_t>(steps.first);
    p.steps = static_cast<std::uint32_t>(steps.count);
    const kernels::RecurrentLayerConstants constants{.cell = static_cast<std::uint32_t>(sizes.cell),
                                                     .dtype = dtype_code(sizes.dtype),
                                                     .weight_type = dtype_code(weight_type(sizes.dtype)),
                                                     .has_bias = has_bias ? 1u : 0u,
                                                     .keeps = keeps ? 1u : 0u,
                                                     .items = static_cast<std::uint32_t>(plan.items)};
    const Groups groups{static_cast<std::uint32_t>(plan.groups / sizes.directions),
                        static_cast<std::uint32_t>(sizes.directions), 1};
    launch(sizes.device.index(), kernel_of(sizes, plan, forward), groups, std::as_bytes(std::span(&p, 1)),
           accesses, constants);
}

bool has_kernels_for(const RecurrentSizes& sizes) {
    const bool known = sizes.dtype == at::kFloat || sizes.dtype == at::kHalf ||
                       sizes.dtype == at::kBFloat16 ||
                       (sizes.dtype == at::kDouble && has_float64(sizes.device.index()));
    constexpr std::int64_t most = std::int64_t{1} << 31;
    return known && device_info(sizes.device.index()).can.maximum_threads >= threads &&
           sizes.batch <= most_groups && sizes.directions * 2 * sizes.length < most;
}

} // namespace

std::int64_t gate_count(RecurrentCell cell) {
    return cell == RecurrentCell::lstm ? 4 : cell == RecurrentCell::gru ? 3 : 1;
}

/// On a large GPU, one workgroup reads the weight from the cache at about 100 GB/s, and all of them together
/// at about 5 TB/s, so these limits mean 40 and 50 µs per step. With separate operators, whose launches wait
/// for each other, a step of hidden size 256 takes about 150 µs forward and backward. That time grows with
/// the sizes only once the products are large enough to run at full speed.
bool should_walk(const RecurrentSizes& sizes) {
    constexpr std::int64_t most_weight_bytes = 4 << 20, most_bytes_per_step = 256 << 20;
    if (!has_kernels_for(sizes) || sizes.length < 2)
        return false;
    for (const bool forward : {true, false}) {
        const auto plan = make_plan(sizes, forward);
        if (!plan || plan->bytes_per_step(sizes) > most_bytes_per_step ||
            plan->depth * plan->columns * sum_bytes(sizes) > most_weight_bytes)
            return false;
    }
    return true;
}

at::ScalarType carry_type(at::ScalarType dtype) {
    return dtype == at::kDouble ? at::kDouble : at::kFloat;
}

Tensor walking_weight(const RecurrentSizes& sizes, at::TensorList weights, bool forward) {
    const Plan plan = make_plan(sizes, forward).value();
    std::vector<Tensor> padded;
    for (const Tensor& weight : weights) {
        const Tensor matrix = (forward ? weight.t() : weight).to(weight_type(sizes.dtype));
        const std::int64_t rows = plan.depth - matrix.size(0), columns = plan.columns - matrix.size(1);
        padded.push_back(rows + columns == 0 ? matrix.contiguous()
                                             : at::constant_pad_nd(matrix, {0, columns, 0, rows}));
    }
    const Tensor all = padded.size() == 1 ? padded[0] : at::stack(padded);
    return address(all) % 16 == 0 ? all : all.clone(at::MemoryFormat::Contiguous);
}

void walk_forward(const RecurrentSizes& sizes, const Walk& walk, const Tensor& bias, bool keeps) {
    const Plan plan = make_plan(sizes, true).value();
    kernels::RecurrentLayerParameters p = parameters_of(sizes, plan, walk);
    std::vector<Access> accesses{keeps ? writes(walk.gates) : reads(walk.gates), writes(walk.output),
                                 reads(walk.weight), writes(walk.carry)};
    if (walk.second.defined())
        accesses.push_back(writes(walk.second));
    if (bias.defined()) {
        p.bias = address(bias);
        accesses.push_back(reads(bias));
    }
    const std::int64_t most = plan.steps(sizes);
    for (std::int64_t first = 0; first < sizes.length; first += most)
        launch_steps(sizes, plan, true, {first, std::min(most, sizes.length - first)}, p, accesses,
                     bias.defined(), keeps);
}

void walk_backward(const RecurrentSizes& sizes, const WalkBack& walk) {
    const Plan plan = make_plan(sizes, false).value();
    kernels::RecurrentLayerParameters p = parameters_of(sizes, plan, walk);
    p.grad_output = address(walk.grad_output);
    p.grad_gates = address(walk.grad_gates);
    std::vector<Access> accesses{reads(walk.gates),  reads(walk.output),      reads(walk.weight),
                                 writes(walk.carry), reads(walk.grad_output), writes(walk.grad_gates)};
    if (walk.second.defined()) {
        p.initial = address(walk.initial);
        accesses.insert(accesses.end(), {reads(walk.second), reads(walk.initial)});
    }
    if (walk.grad_hidden_gates.defined()) {
        p.grad_hidden_gates = address(walk.grad_hidden_gates);
        accesses.push_back(writes(walk.grad_hidden_gates));
    }
    const std::int64_t most = plan.steps(sizes);
    for (std::int64_t end = sizes.length; end > 0; end -= std::min(most, end)) {
        const std::int64_t count = std::min(most, end);
        launch_steps(sizes, plan, false, {end - count, count}, p, accesses, false, true);
    }
}

} // namespace rvk
