/// A population on a GPU: one workgroup per member. The host holds each member's state besides its tensors
/// and writes the numbers of every step; the kernels (kernels/population/population.slang) do many steps per
/// launch.

#include "cpu/tensors.h"
#include "gpu/choice.h"
#include "gpu/evaluation_launches.h"
#include "gpu/member_arrays.h"
#include "gpu/plan.h"
#include "gpu/samples.h"
#include "gpu/tables.h"
#include "gpu/training_launches.h"
#include "population/check.h"

#include <rekindle/foundation/error.h>
#include <rekindle/mlp/population.h>
#include <rekindle/runtime/device.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace rekindle::mlp {

namespace gpu {

namespace {

/// Advances members step by step like the CPU engine. Adjacent members that are equal are advanced only once,
/// because a call may contain millions of steps.
class BetaPowers {
  public:
    void advance(const TrainingSpec& spec, std::size_t steps, cpu::Progress& progress) {
        const std::array key{spec.optimizer.beta1, spec.optimizer.beta2, progress.beta1_power,
                             progress.beta2_power};
        if (key != key_ || steps != steps_) {
            key_ = key;
            steps_ = steps;
            after_ = progress;
            for (std::size_t step = 0; step < steps; ++step)
                cpu::advance_step(spec, after_);
        }
        progress.steps += steps;
        progress.beta1_power = after_.beta1_power;
        progress.beta2_power = after_.beta2_power;
    }

  private:
    std::array<double, 4> key_{};
    std::size_t steps_ = static_cast<std::size_t>(-1); ///< no member has been advanced yet
    cpu::Progress after_;
};

class GpuPopulation final : public Population {
  public:
    GpuPopulation(std::shared_ptr<runtime::Device> device, ModelDescription model,
                  std::vector<TrainingSpec> members, GpuShape shape)
        : device_(std::move(device)), model_(std::move(model)), members_(std::move(members)), shape_(shape),
          plan_(model_, members_.front()), stream_(device_->make_stream()),
          arrays_(*device_, *stream_, plan_, Layout(model_), members_.size()), progress_(members_.size()) {
        for (std::size_t a = 0; a < array_count; ++a)
            if (std::ranges::any_of(members_, [&](const TrainingSpec& spec) {
                    return cpu::has_array(spec, static_cast<Array>(a));
                }))
                arrays_.require(static_cast<Array>(a));
    }

    const ModelDescription& model() const noexcept override { return model_; }
    std::size_t size() const noexcept override { return members_.size(); }
    const TrainingSpec& training(std::size_t member) const override { return members_.at(member); }
    std::string device() const override {
        return device_->info().address() + " " + device_->info().name +
               (shape_ == GpuShape::latency ? " (latency)" : " (throughput)");
    }

    void initialize() override {
        const std::map<std::uint64_t, std::vector<float>> shared = parameters_of_shared_seeds();
        arrays_.write_all(Array::parameters, [&](std::size_t m, std::span<float> values) {
            if (const auto found = shared.find(members_[m].seed); found != shared.end())
                std::ranges::copy(found->second, values.begin());
            else
                cpu::initial_parameters(plan_, model_.initialization, members_[m].seed, values);
        });
        restart(0, size());
    }
    void set_parameters(std::size_t member, std::span<const NamedTensor> tensors) override {
        std::vector<float> values(plan_.parameter_floats());
        cpu::from_tensors(plan_, tensors, values);
        arrays_.write(Array::parameters, checked(member), values);
        restart(member, 1);
    }
    std::vector<NamedTensor> parameters(std::size_t member) const override {
        return tensors(Array::parameters, member);
    }
    std::vector<NamedTensor> evaluation_parameters(std::size_t member) const override {
        return tensors(evaluation_weights(), member);
    }
    std::vector<NamedTensor> optimizer_tensors(std::size_t member, std::string_view moment) const override {
        return tensors(cpu::moment_array(members_[checked(member)], moment), member);
    }

    std::unique_ptr<SampleSet> prepare(const Samples& samples) override {
        population::check_samples(samples, model_);
        return std::make_unique<GpuSamples>(*device_, stream_, samples, model_.inputs);
    }

    std::vector<TrainResult> train(const SampleSet& samples, RowOrders orders,
                                   std::size_t batch_size) override {
        const GpuSamples& rows = own(samples);
        population::check_orders(orders, size(), batch_size);
        std::vector<TrainResult> results(size());
        const TrainingTables tables = training_tables(members_, progress_, orders, batch_size);
        if (tables.largest_batches == 0)
            return results;
        const auto records = launches(batch_size).train(&rows, tables, accumulation_steps(), false);
        BetaPowers powers;
        for (std::size_t m = 0; m < size(); ++m)
            results[m] = apply(records[m], m, powers);
        return results;
    }
    void finish_accumulation() override {
        if (std::ranges::all_of(progress_, [](const cpu::Progress& p) { return p.pending_batches == 0; }))
            return;
        const auto records =
            launches(1).train(nullptr, pending_tables(members_, progress_), accumulation_steps(), true);
        BetaPowers powers;
        for (std::size_t m = 0; m < size(); ++m)
            apply(records[m], m, powers);
    }
    void report_validation_losses(std::span<const double> losses) override {
        population::check_losses(losses, size());
        for (std::size_t m = 0; m < size(); ++m)
            if (!std::isnan(losses[m]))
                cpu::report_epoch(members_[m], losses[m], progress_[m].plateau);
    }

    std::vector<double> evaluate(const SampleSet& samples, std::size_t first,
                                 std::size_t count) const override {
        population::check_range(first, count, samples.count());
        return evaluation().losses(own(samples), evaluation_weights(), first, count);
    }
    void predict(std::size_t member, const SampleSet& samples, std::size_t first, std::size_t count,
                 std::span<float> outputs) const override {
        predict_members(member, 1, samples, first, count, outputs);
    }
    void predict_members(std::size_t first_member, std::size_t members, const SampleSet& samples,
                         std::size_t first, std::size_t count, std::span<float> outputs) const override {
        population::check_range(first_member, members, size());
        population::check_range(first, count, samples.count());
        if (outputs.size() != members * count * model_.outputs())
            throw internal_error("predict: the size of the outputs is not rows times the network's outputs");
        evaluation().predict(own(samples), evaluation_weights(), first_member, members, first, count,
                             outputs);
    }
    std::vector<NamedTensor> gradients(std::size_t member, const SampleSet& samples,
                                       std::span<const std::uint32_t> rows) const override {
        population::check_rows(rows, samples.count());
        if (rows.empty())
            return cpu::to_tensors(plan_, std::vector<float>(plan_.parameter_floats()));
        TrainingSpec spec = members_.at(member);
        spec.accumulation_steps = 1;
        cpu::Progress progress = progress_[member];
        progress.pending_batches = 0;
        const TrainingTables tables =
            training_tables(std::span(&spec, 1), std::span(&progress, 1), std::span(&rows, 1), rows.size());
        return cpu::to_tensors(plan_, launches(rows.size()).gradients(own(samples), member, tables));
    }

    std::uint64_t steps(std::size_t member) const override { return progress_.at(member).steps; }
    std::uint64_t batches(std::size_t member) const override { return progress_.at(member).batches; }
    double learning_rate(std::size_t member) const override {
        return cpu::learning_rate(members_.at(member), progress_.at(member));
    }
    EngineState save(std::size_t member) const override {
        std::array<std::vector<float>, array_count> values;
        cpu::ConstStateArrays arrays;
        for (std::size_t a = 0; a < array_count; ++a)
            if (has(static_cast<Array>(a), member))
                arrays[a] = values[a] = arrays_.read(static_cast<Array>(a), member);
        return cpu::write_state(network_of(member), members_[member], progress_[member], arrays);
    }
    void restore(std::size_t member, const EngineState& state) override {
        std::array<std::vector<float>, array_count> values;
        cpu::StateArrays arrays;
        for (std::size_t a = 0; a < array_count; ++a)
            if (has(static_cast<Array>(a), member)) {
                values[a].resize(plan_.parameter_floats());
                arrays[a] = values[a];
            }
        const cpu::Progress progress = cpu::read_state(state, network_of(member), members_[member], arrays);
        for (std::size_t a = 0; a < array_count; ++a)
            if (!values[a].empty())
                arrays_.write(static_cast<Array>(a), member, values[a]);
        progress_[member] = progress;
    }
    std::unique_ptr<Population> scratch(std::size_t members) const override {
        return std::make_unique<GpuPopulation>(device_, model_, population::first_members(members_, members),
                                               shape_);
    }

  private:
    static constexpr std::size_t evaluation_rows = 32;

    /// The initial parameters of each seed that several members have.
    std::map<std::uint64_t, std::vector<float>> parameters_of_shared_seeds() const {
        std::map<std::uint64_t, std::size_t> members_of;
        for (const TrainingSpec& spec : members_)
            ++members_of[spec.seed];
        std::map<std::uint64_t, std::vector<float>> shared;
        for (const auto& [seed, count] : members_of)
            if (count > 1)
                cpu::initial_parameters(plan_, model_.initialization, seed,
                                        shared[seed] = std::vector<float>(plan_.parameter_floats()));
        return shared;
    }
    ModelDescription network_of(std::size_t member) const {
        return model_.with_dropout_rates(members_[member].dropout_rates);
    }
    bool averages() const { return members_.front().ema_decay > 0; }
    std::size_t accumulation_steps() const { return members_.front().accumulation_steps; }
    Array evaluation_weights() const { return averages() ? Array::average : Array::parameters; }
    std::size_t checked(std::size_t member) const {
        population::check_member(member, size());
        return member;
    }
    bool has(Array array, std::size_t member) const {
        return cpu::has_array(members_[checked(member)], array);
    }
    const GpuSamples& own(const SampleSet& samples) const {
        const auto* set = dynamic_cast<const GpuSamples*>(&samples);
        if (set == nullptr || !set->is_of(stream_))
            throw internal_error("the samples were prepared by another population");
        return *set;
    }
    std::vector<NamedTensor> tensors(Array array, std::size_t member) const {
        return cpu::to_tensors(plan_, arrays_.read(array, checked(member)));
    }
    /// Call after the parameters were set: sets moments to zero, the average to the parameters, step to 0.
    void restart(std::size_t first, std::size_t count) {
        for (const Array array : {Array::first_moment, Array::second_moment, Array::pending})
            arrays_.clear(array, first, count);
        if (averages())
            arrays_.copy(Array::average, Array::parameters, first, count);
        std::fill_n(progress_.begin() + static_cast<std::ptrdiff_t>(first), count, cpu::Progress{});
    }
    TrainResult apply(const ResultRecord& record, std::size_t member, BetaPowers& powers) {
        cpu::Progress& progress = progress_[member];
        powers.advance(members_[member], record.steps, progress);
        progress.batches += record.batches;
        progress.pending_batches = record.pending_batches;
        return {.loss_sum = static_cast<double>(record.loss_high) + static_cast<double>(record.loss_low),
                .rows = record.rows,
                .steps = record.steps,
                .last_gradient_norm = static_cast<double>(record.last_gradient_norm),
                .finite = record.stopped == 0};
    }
    GpuPlan plan_for(std::size_t batch_size) const {
        return plan_population(shared_model(model_, members_), shared_training(members_), batch_size,
                               limits_of(*device_, shape_), shape_);
    }
    std::vector<StageDropouts> dropouts_for(const GpuPlan& plan) const {
        const std::vector<double> own = model_.dropout_rates();
        std::vector<StageDropouts> dropouts;
        dropouts.reserve(size());
        for (const TrainingSpec& spec : members_)
            dropouts.push_back(plan.stage_dropouts(spec.dropout_rates.empty() ? own : spec.dropout_rates));
        return dropouts;
    }
    TrainingLaunches& launches(std::size_t batch_size) const {
        auto& made = launches_[batch_size];
        if (!made) {
            GpuPlan plan = plan_for(batch_size);
            const double work = plan.work_per_step / static_cast<double>(accumulation_steps());
            auto dropouts = dropouts_for(plan);
            made = std::make_unique<TrainingLaunches>(*device_, *stream_, arrays_, std::move(plan),
                                                      std::move(dropouts), batch_size, work);
        }
        return *made;
    }
    EvaluationLaunches& evaluation() const {
        if (!evaluation_)
            evaluation_ = std::make_unique<EvaluationLaunches>(
                *device_, *stream_, arrays_, plan_for(evaluation_rows), evaluation_rows, size(),
                members_.front().loss.huber_delta, model_.outputs());
        return *evaluation_;
    }

    std::shared_ptr<runtime::Device> device_;
    ModelDescription model_;
    std::vector<TrainingSpec> members_;
    GpuShape shape_;
    cpu::Plan plan_;
    std::shared_ptr<runtime::Stream> stream_; ///< shared, so that GpuSamples can recognize it
    mutable MemberArrays arrays_;             ///< a launch may need scratch arrays
    std::vector<cpu::Progress> progress_;
    mutable std::map<std::size_t, std::unique_ptr<TrainingLaunches>> launches_; ///< by batch size
    mutable std::unique_ptr<EvaluationLaunches> evaluation_;
};

} // namespace

} // namespace gpu

std::unique_ptr<Population> gpu_population(std::shared_ptr<runtime::Device> device, ModelDescription model,
                                           std::vector<TrainingSpec> members, GpuShape shape) {
    const std::string refusal = gpu_refusal(*device, model, members);
    if (!refusal.empty())
        throw usage_error(refusal).at(device->info().address()).hint("Train it on the CPU: --device cpu.");
    const GpuShape chosen = gpu::chosen_shape(shape, device->info(), members.size());
    return std::make_unique<gpu::GpuPopulation>(std::move(device), std::move(model), std::move(members),
                                                chosen);
}

} // namespace rekindle::mlp
