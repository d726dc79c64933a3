#include "cpu/impl.h"
#include "cpu/team.h"
#include "cpu/tensors.h"

#include <rekindle/foundation/error.h>
#include <rekindle/kernels/ceil_div.h>

#include <algorithm>
#include <cmath>

namespace rekindle::mlp {

using namespace cpu;

namespace {

/// Number of floats whose squares are summed in float32 before the sum is added to a double.
constexpr std::size_t reduction_chunk = 4096;

std::size_t blocks_of(std::size_t rows) {
    return kernels::ceil_div(rows, block_rows);
}
std::size_t slots_of(std::size_t rows) {
    return std::min(gradient_slots, blocks_of(rows));
}

/// Number of worthwhile threads: a barrier costs about a microsecond, so each thread needs about 50
/// microseconds of work per step.
std::size_t useful_threads(std::size_t requested, std::size_t parameters, std::size_t rows) {
    constexpr std::size_t work_per_thread = 4'000'000;
    return std::clamp<std::size_t>(6 * parameters * rows / work_per_thread, 1,
                                   std::min(requested, slots_of(rows)));
}

/// Computes the gradient of one batch into `slots`, with the blocks dealt to the slots in turn.
struct BatchPass {
    const Network& network;
    const KernelTable& kernels;
    const Samples& samples;
    const std::uint32_t* order;
    std::size_t rows;
    const std::uint32_t* next_order;
    std::size_t next_rows;
    const float* parameters;
    const float* transposed;
    float scale;
    std::uint64_t batch, seed;

    /// Processes one slot's blocks; returns the sum of their losses.
    double run_slot(std::size_t slot, std::size_t slots, float* gradients, float* workspace) const {
        double loss = 0;
        const std::size_t blocks = blocks_of(rows);
        for (std::size_t block = slot; block < blocks; block += slots) {
            const std::size_t first = block * block_rows;
            const std::size_t fetched = std::min(first, next_rows);
            const Rows part{samples.inputs,
                            samples.stride,
                            samples.targets,
                            order + first,
                            std::min(block_rows, rows - first),
                            next_order + fetched,
                            std::min(block_rows, next_rows - fetched)};
            loss += kernels.train_block(network,
                                        {part, parameters, transposed, workspace, gradients, block != slot,
                                         scale, static_cast<std::uint32_t>(first), batch, seed});
        }
        return loss;
    }
};

/// The data that the threads of one train() call share.
struct TrainLoop {
    Engine::Impl& engine;
    const Samples& samples;
    std::span<const std::uint32_t> order;
    std::size_t batch_size;
    std::size_t threads;
    Barrier barrier;
    std::array<double, gradient_slots> slot_losses{};
    std::vector<double> squares; ///< one per reduction chunk
    TrainResult result;

    void run(std::size_t t);
    bool step(std::size_t t, std::size_t first);
    double gradient_norm(float* gradient, std::size_t slots, std::size_t t);
};

/// Sums the slots (and the pending gradient) into `gradient`; returns the norm of the sum, the same on every
/// thread.
double TrainLoop::gradient_norm(float* gradient, std::size_t slots, std::size_t t) {
    std::array<const float*, gradient_slots + 1> sources;
    std::size_t count = 0;
    if (engine.progress.pending_batches > 0)
        sources[count++] = engine.pending.data();
    for (std::size_t s = 0; s < slots; ++s)
        sources[count++] = engine.slots[s].data();
    const std::size_t floats = engine.plan.parameter_floats();
    const Share mine = share(floats, reduction_chunk, t, threads);
    for (std::size_t begin = mine.begin; begin < mine.end; begin += reduction_chunk)
        squares[begin / reduction_chunk] = engine.kernels.reduce(gradient, sources.data(), count, begin,
                                                                 std::min(begin + reduction_chunk, floats));
    barrier.wait();
    double total = 0;
    for (const double part : squares)
        total += part;
    return std::sqrt(total);
}

/// Trains one batch; returns false if it was not finite.
bool TrainLoop::step(std::size_t t, std::size_t first) {
    const std::size_t rows = std::min(batch_size, order.size() - first);
    const std::size_t next = first + rows;
    const std::size_t slots = slots_of(rows);
    const std::size_t accumulated = engine.training.accumulation_steps;
    const Progress& progress = engine.progress;
    const BatchPass pass{
        engine.network,
        engine.kernels,
        samples,
        order.data() + first,
        rows,
        order.data() + next,
        std::min(batch_size, order.size() - next),
        engine.forward_parameters().data(),
        engine.transposed.data(),
        static_cast<float>(1.0 / (static_cast<double>(rows) * static_cast<double>(accumulated))),
        progress.batches,
        engine.training.seed};
    for (std::size_t slot = t; slot < slots; slot += threads)
        slot_losses[slot] =
            pass.run_slot(slot, slots, engine.slots[slot].data(), engine.workspaces[t].data());
    barrier.wait();
    double loss = 0;
    for (std::size_t s = 0; s < slots; ++s)
        loss += slot_losses[s];
    float* gradient = accumulated > 1 ? engine.pending.data() : engine.slots[0].data();
    const double norm = gradient_norm(gradient, slots, t);
    const bool finite = std::isfinite(loss) && std::isfinite(norm);
    const bool updates = progress.pending_batches + 1 == accumulated;
    if (finite && updates) {
        engine.update_share(gradient, norm, t, threads);
        barrier.wait();
        engine.transpose_share(t, threads);
    }
    barrier.wait();
    if (t == 0) {
        result.last_gradient_norm = norm;
        if (!finite) {
            result.finite = false;
            engine.progress.pending_batches = 0;
        } else {
            result.loss_sum += loss;
            result.rows += rows;
            ++engine.progress.batches;
            ++engine.progress.pending_batches;
            if (updates) {
                advance_step(engine.training, engine.progress);
                ++result.steps;
            }
        }
    }
    if (threads > 1)
        barrier.wait();
    return finite;
}

void TrainLoop::run(std::size_t t) {
    for (std::size_t first = 0; first < order.size(); first += batch_size)
        if (!step(t, first))
            return;
}

} // namespace

TrainResult Engine::Impl::train(const Samples& samples, std::span<const std::uint32_t> order,
                                std::size_t batch_size) {
    if (batch_size == 0)
        throw usage_error("batch size 0").expected("1 or more");
    if (samples.stride < model.inputs)
        throw internal_error("rows of samples are shorter than the network's inputs");
    const std::size_t largest = std::min(batch_size, order.size());
    if (largest == 0)
        return {};
    for (std::size_t s = 0; s < slots_of(largest); ++s)
        if (!slots[s])
            slots[s] = Arena(plan.parameter_floats(), 5 * s + 5);
    const std::size_t threads = useful_threads(training.threads, plan.parameter_floats(), largest);
    while (workspaces.size() < threads)
        workspaces.emplace_back(plan.workspace_floats());
    TrainLoop loop{*this,   samples,
                   order,   batch_size,
                   threads, Barrier(threads),
                   {},      std::vector<double>(kernels::ceil_div(plan.parameter_floats(), reduction_chunk)),
                   {}};
    run_team(threads, [&](std::size_t t) { loop.run(t); });
    return loop.result;
}

void Engine::Impl::update_share(const float* gradient, double norm, std::size_t t, std::size_t threads) {
    const Share mine = share(plan.parameter_floats(), lanes, t, threads);
    const double clip = clip_factor(training, norm);
    if (adam())
        kernels.adamw(adamw_step(training, progress, clip), parameters.data(), gradient, first_moment.data(),
                      second_moment.data(), mine.begin, mine.end);
    else
        kernels.sgd(sgd_step(training, progress, clip), parameters.data(), gradient, first_moment.data(),
                    mine.begin, mine.end);
    if (average)
        kernels.average(static_cast<float>(1 - training.ema_decay), parameters.data(), average.data(),
                        mine.begin, mine.end);
    if (rounded)
        kernels.round_bf16(parameters.data(), rounded.data(), mine.begin, mine.end);
}

void Engine::Impl::transpose_share(std::size_t t, std::size_t threads) {
    for (const Stage& s : plan.stages()) {
        if (s.core != Stage::Core::linear || !s.input_gradient)
            continue;
        const Share mine = share(s.input_stride, lanes, t, threads);
        kernels.transpose(s, forward_parameters().data(), transposed.data(), mine.begin, mine.end);
    }
}

void Engine::Impl::apply_pending() {
    if (progress.pending_batches == 0)
        return;
    const FlushSubnormals flush;
    const std::size_t floats = plan.parameter_floats();
    const float* source = pending.data();
    double squares = 0;
    for (std::size_t begin = 0; begin < floats; begin += reduction_chunk)
        squares +=
            kernels.reduce(pending.data(), &source, 1, begin, std::min(begin + reduction_chunk, floats));
    update_share(pending.data(), std::sqrt(squares), 0, 1);
    transpose_share(0, 1);
    advance_step(training, progress);
}

std::vector<NamedTensor> Engine::Impl::gradients(const Samples& samples,
                                                 std::span<const std::uint32_t> rows) const {
    const FlushSubnormals flush;
    const std::size_t count = slots_of(std::max<std::size_t>(rows.size(), 1));
    Arena workspace(plan.workspace_floats());
    std::vector<Arena> sums;
    for (std::size_t s = 0; s < count; ++s)
        sums.emplace_back(plan.parameter_floats());
    const BatchPass pass{network,
                         kernels,
                         samples,
                         rows.data(),
                         rows.size(),
                         nullptr,
                         0,
                         forward_parameters().data(),
                         transposed.data(),
                         static_cast<float>(1.0 / static_cast<double>(rows.size())),
                         progress.batches,
                         training.seed};
    std::vector<const float*> sources;
    for (std::size_t s = 0; s < count; ++s) {
        pass.run_slot(s, count, sums[s].data(), workspace.data());
        sources.push_back(sums[s].data());
    }
    kernels.reduce(sums[0].data(), sources.data(), count, 0, plan.parameter_floats());
    return to_tensors(plan, sums[0].values());
}

} // namespace rekindle::mlp
