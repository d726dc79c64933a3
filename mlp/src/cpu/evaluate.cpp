#include "cpu/impl.h"
#include "cpu/team.h"

#include <rekindle/kernels/ceil_div.h>

#include <algorithm>
#include <numeric>

namespace rekindle::mlp {

using namespace cpu;

namespace {

/// The weights for evaluation: averaged, and rounded if training rounds them.
class EvaluationWeights {
  public:
    explicit EvaluationWeights(const Engine::Impl& engine) : weights_(engine.averaged().data()) {
        if (!engine.training.bf16_storage)
            return;
        rounded_ = Arena(engine.plan.parameter_floats());
        engine.kernels.round_bf16(weights_, rounded_.data(), 0, rounded_.size());
        weights_ = rounded_.data();
    }
    const float* data() const { return weights_; }

  private:
    Arena rounded_;
    const float* weights_;
};

Rows part_of(const Rows& all, std::size_t block) {
    const std::size_t first = block * block_rows;
    return {all.inputs + first * all.stride,
            all.stride,
            all.targets ? all.targets + first : nullptr,
            nullptr,
            std::min(block_rows, all.count - first),
            nullptr,
            0};
}

/// Runs job(block, workspace) for every block of 64 rows, on as many threads as are worthwhile.
template <class Job>
void for_each_block(const Engine::Impl& engine, std::size_t rows, const Job& job) {
    const std::size_t blocks = kernels::ceil_div(rows, block_rows);
    constexpr std::size_t work_per_thread = 4'000'000;
    const std::size_t work = 2 * engine.plan.parameter_floats() * rows;
    const std::size_t threads = std::clamp<std::size_t>(work / work_per_thread, 1, engine.training.threads);
    std::vector<Arena> workspaces;
    for (std::size_t t = 0; t < threads; ++t)
        workspaces.emplace_back(engine.plan.workspace_floats());
    run_team(threads, [&](std::size_t t) {
        const Share mine = share(blocks, 1, t, threads);
        for (std::size_t block = mine.begin; block < mine.end; ++block)
            job(block, workspaces[t].data());
    });
}

} // namespace

double Engine::Impl::evaluate(const Samples& samples) const {
    const EvaluationWeights weights(*this);
    const Rows all{samples.inputs, samples.stride, samples.targets, nullptr, samples.count, nullptr, 0};
    std::vector<double> losses(kernels::ceil_div(samples.count, block_rows));
    for_each_block(*this, samples.count, [&](std::size_t block, float* workspace) {
        losses[block] = kernels.evaluate_block(network, part_of(all, block), weights.data(), workspace);
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
}

void Engine::Impl::predict(const Rows& rows, float* outputs) const {
    const EvaluationWeights weights(*this);
    for_each_block(*this, rows.count, [&](std::size_t block, float* workspace) {
        kernels.predict_block(network, part_of(rows, block), weights.data(), workspace,
                              outputs + block * block_rows * network.head.outputs);
    });
}

} // namespace rekindle::mlp
