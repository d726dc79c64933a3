#include "cpu/impl.h"
#include "cpu/team.h"
#include "cpu/tensors.h"

#include <rekindle/base/philox.h>
#include <rekindle/foundation/error.h>
#include <rekindle/mlp/engine.h>

#include <algorithm>

namespace rekindle::mlp {

using namespace cpu;

static_assert(static_cast<std::uint32_t>(RandomPurpose::dropout) == 3, "masks.h repeats the value");

Engine::Impl::Impl(const ModelDescription& m, TrainingSpec spec, InstructionSet instructions)
    : model(m.with_dropout_rates(spec.dropout_rates)), training(std::move(spec)), plan(model, training),
      network(plan.network()), kernels(cpu::kernels(instructions)) {
    const std::size_t floats = plan.parameter_floats();
    parameters = Arena(floats, 0);
    if (has_array(training, StateArray::first_moment))
        first_moment = Arena(floats, 10);
    if (has_array(training, StateArray::second_moment))
        second_moment = Arena(floats, 15);
    if (has_array(training, StateArray::average))
        average = Arena(floats, 20);
    if (training.bf16_storage)
        rounded = Arena(floats, 25);
    if (has_array(training, StateArray::pending))
        pending = Arena(floats, 30);
    transposed = Arena(plan.transposed_floats());
}

void Engine::Impl::parameters_changed() {
    const FlushSubnormals flush;
    if (rounded)
        kernels.round_bf16(parameters.data(), rounded.data(), 0, parameters.size());
    transpose_share(0, 1);
}

void Engine::Impl::restart() {
    progress = {};
    for (Arena* arena : {&first_moment, &second_moment, &pending})
        arena->clear();
    if (average)
        std::ranges::copy(parameters.values(), average.data());
    parameters_changed();
}

cpu::StateArrays Engine::Impl::saved_arrays() {
    return {parameters.values(), first_moment.values(), second_moment.values(), average.values(),
            pending.values()};
}

EngineState Engine::Impl::save() const {
    return cpu::write_state(model, training, progress,
                            {parameters.values(), first_moment.values(), second_moment.values(),
                             average.values(), pending.values()});
}

void Engine::Impl::restore(const EngineState& state) {
    progress = cpu::read_state(state, model, training, saved_arrays());
    parameters_changed();
}

Engine::Engine(ModelDescription model, TrainingSpec training, InstructionSet instructions)
    : impl_(std::make_unique<Impl>(std::move(model), std::move(training), instructions)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

const ModelDescription& Engine::model() const noexcept {
    return impl_->model;
}
const TrainingSpec& Engine::training() const noexcept {
    return impl_->training;
}

void Engine::initialize() {
    initial_parameters(impl_->plan, impl_->model.initialization, impl_->training.seed,
                       impl_->parameters.values());
    impl_->restart();
}

void Engine::initialize_like(const Engine& other) {
    std::ranges::copy(other.impl_->parameters.values(), impl_->parameters.data());
    impl_->restart();
}

void Engine::set_parameters(std::span<const NamedTensor> tensors) {
    from_tensors(impl_->plan, tensors, impl_->parameters.values());
    impl_->restart();
}

std::vector<NamedTensor> Engine::parameters() const {
    return to_tensors(impl_->plan, impl_->parameters.values());
}
std::vector<NamedTensor> Engine::evaluation_parameters() const {
    return to_tensors(impl_->plan, impl_->averaged().values());
}

std::vector<NamedTensor> Engine::optimizer_tensors(std::string_view moment) const {
    const bool first = moment_array(impl_->training, moment) == StateArray::first_moment;
    return to_tensors(impl_->plan, (first ? impl_->first_moment : impl_->second_moment).values());
}

TrainResult Engine::train(const Samples& samples, std::span<const std::uint32_t> order,
                          std::size_t batch_size) {
    return impl_->train(samples, order, batch_size);
}
void Engine::finish_accumulation() {
    impl_->apply_pending();
}
void Engine::report_validation_loss(double loss) {
    report_epoch(impl_->training, loss, impl_->progress.plateau);
}

double Engine::evaluate(const Samples& samples) const {
    return impl_->evaluate(samples);
}

void Engine::predict(const float* inputs, std::size_t stride, std::size_t rows,
                     std::span<float> outputs) const {
    if (outputs.size() != rows * impl_->network.head.outputs)
        throw internal_error("predict: the size of the outputs is not rows times the network's outputs");
    impl_->predict({inputs, stride, nullptr, nullptr, rows, nullptr, 0}, outputs.data());
}

std::vector<NamedTensor> Engine::gradients(const Samples& samples,
                                           std::span<const std::uint32_t> rows) const {
    return impl_->gradients(samples, rows);
}

std::uint64_t Engine::steps() const noexcept {
    return impl_->progress.steps;
}
std::uint64_t Engine::batches() const noexcept {
    return impl_->progress.batches;
}
double Engine::learning_rate() const noexcept {
    return impl_->rate();
}
EngineState Engine::save() const {
    return impl_->save();
}
void Engine::restore(const EngineState& state) {
    impl_->restore(state);
}

} // namespace rekindle::mlp
