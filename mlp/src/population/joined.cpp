/// A population whose members are spread over several others, usually one per device.

#include "population/check.h"

#include <rekindle/foundation/error.h>
#include <rekindle/kernels/ceil_div.h>
#include <rekindle/mlp/population.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <thread>
#include <utility>

namespace rekindle::mlp {

using namespace population;

namespace {

class JoinedSamples final : public SampleSet {
  public:
    explicit JoinedSamples(std::vector<std::unique_ptr<SampleSet>> parts) : parts_(std::move(parts)) {}
    std::size_t count() const override { return parts_.front()->count(); }
    const SampleSet& part(std::size_t i) const { return *parts_.at(i); }

  private:
    std::vector<std::unique_ptr<SampleSet>> parts_;
};

class JoinedPopulation final : public Population {
  public:
    explicit JoinedPopulation(std::vector<PopulationPart> parts) : parts_(std::move(parts)) {
        for (const PopulationPart& part : parts_) {
            first_.push_back(members_.size());
            for (std::size_t m = 0; m < part.members; ++m)
                members_.push_back(part.population->training(m));
        }
        check_members(members_, model());
    }

    const ModelDescription& model() const noexcept override { return parts_.front().population->model(); }
    std::size_t size() const noexcept override { return members_.size(); }
    const TrainingSpec& training(std::size_t member) const override { return members_.at(member); }
    std::string device() const override {
        std::string text;
        for (const PopulationPart& part : parts_)
            text += (text.empty() ? "" : " + ") + part.population->device();
        return text;
    }

    void initialize() override {
        for_each_part([](Population& part, std::size_t) { part.initialize(); });
    }
    void set_parameters(std::size_t member, std::span<const NamedTensor> tensors) override {
        const auto [part, own_member] = at(member);
        part->set_parameters(own_member, tensors);
    }
    std::vector<NamedTensor> parameters(std::size_t member) const override {
        const auto [part, own_member] = at(member);
        return part->parameters(own_member);
    }
    std::vector<NamedTensor> evaluation_parameters(std::size_t member) const override {
        const auto [part, own_member] = at(member);
        return part->evaluation_parameters(own_member);
    }
    std::vector<NamedTensor> optimizer_tensors(std::size_t member, std::string_view moment) const override {
        const auto [part, own_member] = at(member);
        return part->optimizer_tensors(own_member, moment);
    }

    std::unique_ptr<SampleSet> prepare(const Samples& samples) override {
        std::vector<std::unique_ptr<SampleSet>> sets(parts_.size());
        for_each_part([&](Population& part, std::size_t i) { sets[i] = part.prepare(samples); });
        return std::make_unique<JoinedSamples>(std::move(sets));
    }

    std::vector<TrainResult> train(const SampleSet& samples, RowOrders orders,
                                   std::size_t batch_size) override {
        const JoinedSamples& sets = samples_as<JoinedSamples>(samples);
        check_orders(orders, size(), batch_size);
        std::vector<TrainResult> results(size());
        for_each_part([&](Population& part, std::size_t i) {
            const RowOrders mine = orders.size() == 1 ? orders : orders.subspan(first_[i], part.size());
            std::ranges::copy(part.train(sets.part(i), mine, batch_size), results.begin() + offset(i));
        });
        return results;
    }
    void finish_accumulation() override {
        for_each_part([](Population& part, std::size_t) { part.finish_accumulation(); });
    }
    void report_validation_losses(std::span<const double> losses) override {
        check_losses(losses, size());
        for_each_part([&](Population& part, std::size_t i) {
            part.report_validation_losses(losses.subspan(first_[i], part.size()));
        });
    }

    std::vector<double> evaluate(const SampleSet& samples, std::size_t first,
                                 std::size_t count) const override {
        const JoinedSamples& sets = samples_as<JoinedSamples>(samples);
        std::vector<double> losses(size());
        for_each_part([&](const Population& part, std::size_t i) {
            std::ranges::copy(part.evaluate(sets.part(i), first, count), losses.begin() + offset(i));
        });
        return losses;
    }
    void predict(std::size_t member, const SampleSet& samples, std::size_t first, std::size_t count,
                 std::span<float> outputs) const override {
        const auto [part, own_member] = at(member);
        part->predict(own_member, samples_as<JoinedSamples>(samples).part(part_of(member)), first, count,
                      outputs);
    }
    void predict_members(std::size_t first_member, std::size_t members, const SampleSet& samples,
                         std::size_t first, std::size_t count, std::span<float> outputs) const override {
        const JoinedSamples& sets = samples_as<JoinedSamples>(samples);
        const std::size_t each = count * model().outputs(), end = first_member + members;
        for_each_part([&](const Population& part, std::size_t i) {
            const std::size_t from = std::max(first_member, first_[i]);
            const std::size_t to = std::min(end, first_[i] + part.size());
            if (from < to)
                part.predict_members(from - first_[i], to - from, sets.part(i), first, count,
                                     outputs.subspan((from - first_member) * each, (to - from) * each));
        });
    }
    std::vector<NamedTensor> gradients(std::size_t member, const SampleSet& samples,
                                       std::span<const std::uint32_t> rows) const override {
        const auto [part, own_member] = at(member);
        return part->gradients(own_member, samples_as<JoinedSamples>(samples).part(part_of(member)), rows);
    }

    std::uint64_t steps(std::size_t member) const override {
        const auto [part, own_member] = at(member);
        return part->steps(own_member);
    }
    std::uint64_t batches(std::size_t member) const override {
        const auto [part, own_member] = at(member);
        return part->batches(own_member);
    }
    double learning_rate(std::size_t member) const override {
        const auto [part, own_member] = at(member);
        return part->learning_rate(own_member);
    }
    EngineState save(std::size_t member) const override {
        const auto [part, own_member] = at(member);
        return part->save(own_member);
    }
    void restore(std::size_t member, const EngineState& state) override {
        const auto [part, own_member] = at(member);
        part->restore(own_member, state);
    }
    /// Every part keeps its share of the members.
    std::unique_ptr<Population> scratch(std::size_t members) const override {
        std::vector<PopulationPart> parts;
        for (const PopulationPart& part : parts_) {
            const std::size_t share = kernels::ceil_div(std::min(members, size()) * part.members, size());
            auto population = part.population->scratch(share);
            const std::size_t count = population->size();
            parts.push_back({count, std::move(population)});
        }
        return std::make_unique<JoinedPopulation>(std::move(parts));
    }

  private:
    std::size_t part_of(std::size_t member) const {
        check_member(member, size());
        return static_cast<std::size_t>(std::ranges::upper_bound(first_, member) - first_.begin()) - 1;
    }
    std::pair<Population*, std::size_t> at(std::size_t member) const {
        const std::size_t part = part_of(member);
        return {parts_[part].population.get(), member - first_[part]};
    }
    std::ptrdiff_t offset(std::size_t part) const { return static_cast<std::ptrdiff_t>(first_[part]); }

    /// Runs job(part, its number) for every part, each in its own thread. All of them finish; then the first
    /// part's failure is thrown.
    template <class Job>
    void for_each_part(const Job& job) const {
        std::vector<std::exception_ptr> failures(parts_.size());
        const auto guarded = [&](std::size_t i) {
            try {
                job(*parts_[i].population, i);
            } catch (...) {
                failures[i] = std::current_exception();
            }
        };
        {
            std::vector<std::jthread> others;
            for (std::size_t i = 1; i < parts_.size(); ++i)
                others.emplace_back(guarded, i);
            guarded(0);
        }
        for (const std::exception_ptr& failure : failures)
            if (failure)
                std::rethrow_exception(failure);
    }

    std::vector<PopulationPart> parts_;
    std::vector<std::size_t> first_; ///< first member of each part
    std::vector<TrainingSpec> members_;
};

} // namespace

std::unique_ptr<Population> joined_population(std::vector<PopulationPart> parts) {
    if (parts.empty())
        throw usage_error("a joined population has no parts").expected("1 or more");
    for (const PopulationPart& part : parts) {
        if (!part.population || part.population->size() != part.members || part.members == 0)
            throw internal_error("a part's population does not have as many members as its share");
        if (part.population->model() != parts.front().population->model())
            throw internal_error("the parts of a population have different networks");
    }
    return std::make_unique<JoinedPopulation>(std::move(parts));
}

} // namespace rekindle::mlp
