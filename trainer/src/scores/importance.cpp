#include <rekindle/market/features.h>
#include <rekindle/trainer/importance.h>
#include <rekindle/trainer/network.h>
#include <rekindle/trainer/row_orders.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace rekindle::trainer {

namespace {

constexpr std::size_t permutations = 5;
constexpr std::size_t most_rows = 1024, fewest_rows = 128;
/// A budget in multiply-adds, about a second on one core; large networks use fewer rows to stay within it.
constexpr double most_work = 2e10;

std::size_t rows_within_budget(const mlp::Engine& engine, std::size_t groups) {
    const double of_a_row =
        static_cast<double>(parameter_count(engine.model())) * static_cast<double>(permutations * groups + 1);
    return static_cast<std::size_t>(
        std::clamp(most_work / of_a_row, static_cast<double>(fewest_rows), static_cast<double>(most_rows)));
}

std::string group_of(const std::string& column) {
    for (const market::FeatureInfo& feature : market::feature_table())
        if (feature.name == column)
            return feature.group;
    return column.starts_with(instrument_input_name("")) ? "instrument" : column;
}

/// Evenly spaced validation rows.
struct SampledRows {
    std::vector<float> inputs, targets;
    std::size_t width = 0;

    SampledRows(const Dataset& set, std::size_t inputs_of_network, std::size_t most)
        : width(inputs_of_network) {
        const mlp::Samples samples = set.validation();
        const std::size_t count = std::min(samples.count, most);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t row = samples.count * i / count;
            const float* const values = samples.inputs + row * samples.stride;
            inputs.insert(inputs.end(), values, values + width);
            targets.push_back(samples.targets[row]);
        }
    }
};

double loss_of(const mlp::Engine& engine, const mlp::LossSpec& loss, std::span<const float> inputs,
               std::span<const float> targets) {
    std::vector<float> outputs(targets.size() * engine.model().outputs());
    engine.predict(inputs.data(), engine.model().inputs, targets.size(), outputs);
    return mean_output_loss(loss, outputs, targets);
}

} // namespace

InputGroups input_groups(std::span<const std::string> columns) {
    std::set<std::string> found;
    for (const std::string& column : columns)
        found.insert(group_of(column));
    InputGroups groups;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const std::string name = found.size() == 1 ? columns[c] : group_of(columns[c]);
        const auto known = std::ranges::find(groups.names, name);
        if (known == groups.names.end()) {
            groups.names.push_back(name);
            groups.columns.push_back({c});
        } else {
            groups.columns[static_cast<std::size_t>(known - groups.names.begin())].push_back(c);
        }
    }
    return groups;
}

double mean_output_loss(const mlp::LossSpec& loss, std::span<const float> outputs,
                        std::span<const float> targets) {
    const std::size_t width = outputs.size() / targets.size();
    double sum = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const double output = outputs[i * width], target = targets[i];
        if (loss.kind == mlp::LossSpec::Kind::bce_with_logits)
            sum += std::max(output, 0.0) - output * target + std::log1p(std::exp(-std::abs(output)));
        else
            sum += (output - target) * (output - target);
    }
    return sum / static_cast<double>(targets.size());
}

void sort_by_increase(std::vector<Importance>& importance) {
    std::ranges::stable_sort(importance, std::ranges::greater(), &Importance::loss_increase);
}

std::vector<Importance> validation_importance(const Dataset& set, const mlp::Engine& engine,
                                              std::uint64_t seed) {
    const InputGroups groups = input_groups(set.matrix.names);
    const SampledRows rows(set, engine.model().inputs, rows_within_budget(engine, groups.names.size()));
    const std::size_t count = rows.targets.size();
    const double plain = loss_of(engine, set.meaning.loss, rows.inputs, rows.targets);
    std::vector<Importance> importance;
    for (std::size_t g = 0; g < groups.names.size(); ++g) {
        std::vector<double> increases;
        for (std::size_t p = 0; p < permutations; ++p) {
            const auto order = epoch_order(count, seed, importance_epoch - static_cast<std::int64_t>(p));
            std::vector<float> permuted = rows.inputs;
            for (std::size_t i = 0; i < count; ++i)
                for (const std::size_t column : groups.columns[g])
                    permuted[i * rows.width + column] = rows.inputs[order[i] * rows.width + column];
            const double loss = loss_of(engine, set.meaning.loss, permuted, rows.targets);
            increases.push_back(plain > 0 ? loss / plain - 1 : 0);
        }
        std::ranges::sort(increases);
        importance.push_back(
            {groups.names[g], increases[permutations / 2], increases.front(), increases.back()});
    }
    sort_by_increase(importance);
    return importance;
}

} // namespace rekindle::trainer
