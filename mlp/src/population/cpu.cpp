/// One Engine per member; members are trained in parallel.

#include "population/check.h"

#include <rekindle/base/thread_pool.h>
#include <rekindle/mlp/population.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace rekindle::mlp {

using namespace population;

namespace {

/// The first `width` inputs of each row, without gaps, and the targets if there are any.
Samples copy_of(const Samples& samples, std::size_t width) {
    struct Rows {
        std::vector<float> inputs, targets;
    };
    const auto rows = std::make_shared<Rows>();
    rows->inputs.resize(samples.count * width);
    for (std::size_t r = 0; r < samples.count; ++r)
        std::copy_n(samples.inputs + r * samples.stride, width, rows->inputs.data() + r * width);
    if (samples.targets)
        rows->targets.assign(samples.targets, samples.targets + samples.count);
    return {rows->inputs.data(), width, samples.targets ? rows->targets.data() : nullptr, samples.count,
            rows};
}

class CpuSamples final : public SampleSet {
  public:
    /// Precondition: the rows have an owner.
    explicit CpuSamples(Samples rows) : rows_(std::move(rows)) {}
    std::size_t count() const override { return rows_.count; }
    const Samples& all() const { return rows_; }
    Samples part(std::size_t first, std::size_t count) const {
        check_range(first, count, rows_.count);
        return {rows_.inputs + first * rows_.stride, rows_.stride,
                rows_.targets ? rows_.targets + first : nullptr, count, rows_.owner};
    }

  private:
    Samples rows_;
};

class CpuPopulation final : public Population {
  public:
    CpuPopulation(ModelDescription model, std::vector<TrainingSpec> members, std::size_t threads)
        : model_(std::move(model)), members_(std::move(members)), pool_(std::min(threads, members_.size())) {
        engines_.reserve(members_.size());
        for (TrainingSpec spec : members_) {
            spec.threads = std::max<std::size_t>(1, threads / members_.size());
            engines_.emplace_back(model_, spec);
        }
    }

    const ModelDescription& model() const noexcept override { return model_; }
    std::size_t size() const noexcept override { return engines_.size(); }
    const TrainingSpec& training(std::size_t member) const override { return members_.at(member); }
    std::string device() const override { return "cpu (" + std::string(instruction_set()) + ")"; }

    void initialize() override {
        std::map<std::uint64_t, std::size_t> first_with_seed;
        for (std::size_t m = 0; m < size(); ++m)
            first_with_seed.try_emplace(members_[m].seed, m);
        const auto source = [&](std::size_t m) { return first_with_seed.at(members_[m].seed); };
        pool_.for_each(size(), [&](std::size_t m) {
            if (source(m) == m)
                engines_[m].initialize();
        });
        pool_.for_each(size(), [&](std::size_t m) {
            if (source(m) != m)
                engines_[m].initialize_like(engines_[source(m)]);
        });
    }
    void set_parameters(std::size_t member, std::span<const NamedTensor> tensors) override {
        engines_.at(member).set_parameters(tensors);
    }
    std::vector<NamedTensor> parameters(std::size_t member) const override {
        return engines_.at(member).parameters();
    }
    std::vector<NamedTensor> evaluation_parameters(std::size_t member) const override {
        return engines_.at(member).evaluation_parameters();
    }
    std::vector<NamedTensor> optimizer_tensors(std::size_t member, std::string_view moment) const override {
        return engines_.at(member).optimizer_tensors(moment);
    }

    std::unique_ptr<SampleSet> prepare(const Samples& samples) override {
        check_samples(samples, model());
        return std::make_unique<CpuSamples>(samples.owner ? samples : copy_of(samples, model().inputs));
    }

    std::vector<TrainResult> train(const SampleSet& samples, RowOrders orders,
                                   std::size_t batch_size) override {
        const Samples& rows = samples_as<CpuSamples>(samples).all();
        check_orders(orders, size(), batch_size);
        for (std::size_t i = 0; i < orders.size(); ++i)
            if (i == 0 || orders[i].data() != orders[i - 1].data() ||
                orders[i].size() != orders[i - 1].size())
                check_rows(orders[i], rows.count);
        std::vector<TrainResult> results(size());
        pool_.for_each(size(), [&](std::size_t m) {
            results[m] = engines_[m].train(rows, order_of(orders, m), batch_size);
        });
        return results;
    }
    void finish_accumulation() override {
        pool_.for_each(size(), [this](std::size_t m) { engines_[m].finish_accumulation(); });
    }
    void report_validation_losses(std::span<const double> losses) override {
        check_losses(losses, size());
        for (std::size_t m = 0; m < size(); ++m)
            if (!std::isnan(losses[m]))
                engines_[m].report_validation_loss(losses[m]);
    }

    std::vector<double> evaluate(const SampleSet& samples, std::size_t first,
                                 std::size_t count) const override {
        const Samples part = samples_as<CpuSamples>(samples).part(first, count);
        std::vector<double> losses(size());
        pool_.for_each(size(), [&](std::size_t m) { losses[m] = engines_[m].evaluate(part); });
        return losses;
    }
    void predict(std::size_t member, const SampleSet& samples, std::size_t first, std::size_t count,
                 std::span<float> outputs) const override {
        const Samples part = samples_as<CpuSamples>(samples).part(first, count);
        engines_.at(member).predict(part.inputs, part.stride, part.count, outputs);
    }
    void predict_members(std::size_t first_member, std::size_t members, const SampleSet& samples,
                         std::size_t first, std::size_t count, std::span<float> outputs) const override {
        const std::size_t each = count * model().outputs();
        pool_.for_each(members, [&](std::size_t m) {
            predict(first_member + m, samples, first, count, outputs.subspan(m * each, each));
        });
    }
    std::vector<NamedTensor> gradients(std::size_t member, const SampleSet& samples,
                                       std::span<const std::uint32_t> rows) const override {
        check_rows(rows, samples.count());
        return engines_.at(member).gradients(samples_as<CpuSamples>(samples).all(), rows);
    }

    std::uint64_t steps(std::size_t member) const override { return engines_.at(member).steps(); }
    std::uint64_t batches(std::size_t member) const override { return engines_.at(member).batches(); }
    double learning_rate(std::size_t member) const override { return engines_.at(member).learning_rate(); }
    EngineState save(std::size_t member) const override { return engines_.at(member).save(); }
    void restore(std::size_t member, const EngineState& state) override {
        engines_.at(member).restore(state);
    }
    std::unique_ptr<Population> scratch(std::size_t members) const override {
        return std::make_unique<CpuPopulation>(model(), first_members(members_, members), pool_.size());
    }

  private:
    ModelDescription model_;
    std::vector<TrainingSpec> members_; ///< as given; the engines' own specs have different thread counts
    std::vector<Engine> engines_;
    mutable ThreadPool pool_;
};

} // namespace

std::unique_ptr<Population> cpu_population(ModelDescription model, std::vector<TrainingSpec> members,
                                           std::size_t threads) {
    check_members(members, model);
    return std::make_unique<CpuPopulation>(std::move(model), std::move(members),
                                           threads == 0 ? available_cpus() : threads);
}

} // namespace rekindle::mlp
