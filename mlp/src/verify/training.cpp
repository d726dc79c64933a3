#include "verify/checks.h"

#include <rekindle/mlp/engine.h>
#include <rekindle/mlp/population.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace rekindle::mlp::verify {

namespace {

constexpr std::size_t members = 3;
constexpr std::size_t steps = 20;
constexpr double gradient_bound = 1e-5;
constexpr double loss_bound = 1e-5;
/// After 20 steps without a reset, rounding errors have had 20 updates to grow.
constexpr double continuous_loss_bound = 1e-3;

struct NetworkCase {
    std::string name;
    ModelDescription model;
    double clip_norm;
    std::size_t batch_size;
};

std::vector<NetworkCase> network_cases() {
    const std::size_t small[] = {32, 16}, usual[] = {128, 64}, wide[] = {256, 256};
    return {{"16-32-16-1", ModelDescription::plain(16, small), 0, 8},
            {"default 54-128-64-1", ModelDescription::default_network(54, usual, 0.4), 1, 32},
            {"wide 64-256-256-1", ModelDescription::default_network(64, wide, 0.2), 1, 32}};
}

struct Rows {
    std::vector<float> inputs, targets;
    Samples samples;
};

Rows make_rows(std::size_t inputs, std::size_t count) {
    std::mt19937 random(7);
    const auto number = [&] { return static_cast<float>(random()) / 2147483648.0f - 1.0f; };
    Rows rows;
    for (std::size_t r = 0; r < count; ++r) {
        for (std::size_t i = 0; i < inputs; ++i)
            rows.inputs.push_back(number());
        const float* x = &rows.inputs[r * inputs];
        rows.targets.push_back(std::sin(3 * x[0]) + x[1] * x[2] + 0.1f * number());
    }
    rows.samples = {rows.inputs.data(), inputs, rows.targets.data(), count};
    return rows;
}

std::vector<TrainingSpec> specs(const NetworkCase& network) {
    std::vector<TrainingSpec> specs(members);
    for (std::size_t m = 0; m < members; ++m) {
        specs[m].clip_norm = network.clip_norm;
        specs[m].seed = 42 + m;
        specs[m].optimizer.learning_rate = 1e-3;
    }
    return specs;
}

/// ‖found − expected‖ / ‖expected‖ over all tensors, in double.
double relative_distance(const std::vector<NamedTensor>& found, const std::vector<NamedTensor>& expected) {
    double difference = 0, norm = 0;
    if (found.size() != expected.size())
        return std::numeric_limits<double>::infinity();
    for (std::size_t t = 0; t < expected.size(); ++t) {
        if (found[t].name != expected[t].name || found[t].values.size() != expected[t].values.size())
            return std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < expected[t].values.size(); ++i) {
            const double e = expected[t].values[i], d = found[t].values[i] - e;
            difference += d * d;
            norm += e * e;
        }
    }
    return std::sqrt(difference / norm);
}

double relative_difference(double found, double expected) {
    return std::abs(found - expected) / std::abs(expected);
}

/// Like std::max, but keeps NaN.
double worse(double a, double b) {
    return std::isnan(a) || a > b ? a : b;
}

class Comparison {
  public:
    Comparison(const std::shared_ptr<runtime::Device>& device, const NetworkCase& network)
        : network_(network), rows_(make_rows(network.model.inputs, (steps + members) * network.batch_size)),
          population_(gpu_population(device, network.model, specs(network))),
          samples_(population_->prepare(rows_.samples)) {
        for (const TrainingSpec& spec : specs(network)) {
            engines_.emplace_back(network.model, spec);
            engines_.back().initialize();
        }
    }

    /// Every step starts from the CPU's state.
    void stepwise(const AddRow& add) {
        double first = 0, gradients = 0, losses = 0;
        for (std::size_t step = 0; step < steps; ++step) {
            std::vector<std::vector<std::uint32_t>> batches;
            for (std::size_t m = 0; m < members; ++m) {
                batches.push_back(order(m, step, 1));
                population_->restore(m, engines_[m].save());
                gradients = worse(relative_distance(population_->gradients(m, *samples_, batches[m]),
                                                    engines_[m].gradients(rows_.samples, batches[m])),
                                  gradients);
            }
            if (step == 0)
                first = gradients;
            losses = worse(train_both(batches), losses);
        }
        add(compared("training", network_.name + ": gradients of the first step", gradient_bound, first));
        add(compared("training", network_.name + ": gradients of 20 steps", gradient_bound, gradients));
        add(compared("training", network_.name + ": losses of 20 steps", loss_bound, losses));
    }

    /// All steps in one call, from the seeds.
    void continuous(const AddRow& add) {
        population_->initialize();
        std::vector<std::vector<std::uint32_t>> orders;
        for (std::size_t m = 0; m < members; ++m) {
            engines_[m].initialize();
            orders.push_back(order(m, 0, steps));
        }
        add(compared("training", network_.name + ": 20 steps on its own", continuous_loss_bound,
                     train_both(orders)));
    }

  private:
    std::vector<std::uint32_t> order(std::size_t member, std::size_t step, std::size_t count) const {
        std::vector<std::uint32_t> order(count * network_.batch_size);
        for (std::size_t i = 0; i < order.size(); ++i)
            order[i] = static_cast<std::uint32_t>((member + step) * network_.batch_size + i);
        return order;
    }

    /// The largest relative difference of the losses.
    double train_both(const std::vector<std::vector<std::uint32_t>>& orders) {
        const std::vector<std::span<const std::uint32_t>> views(orders.begin(), orders.end());
        const auto found = population_->train(*samples_, views, network_.batch_size);
        double worst = 0;
        for (std::size_t m = 0; m < members; ++m) {
            const TrainResult expected = engines_[m].train(rows_.samples, orders[m], network_.batch_size);
            worst = worse(found[m].finite ? relative_difference(found[m].loss_sum, expected.loss_sum)
                                          : std::numeric_limits<double>::infinity(),
                          worst);
        }
        return worst;
    }

    const NetworkCase& network_;
    Rows rows_;
    std::unique_ptr<Population> population_;
    std::unique_ptr<SampleSet> samples_;
    std::vector<Engine> engines_;
};

} // namespace

void check_training(const std::shared_ptr<runtime::Device>& device, const AddRow& add) {
    for (const NetworkCase& network : network_cases()) {
        if (const std::string reason = gpu_refusal(*device, network.model, specs(network)); !reason.empty()) {
            add(stated("training", network.name, VerifyRow::Outcome::not_run, reason));
            continue;
        }
        Comparison comparison(device, network);
        comparison.stepwise(add);
        comparison.continuous(add);
    }
}

} // namespace rekindle::mlp::verify
