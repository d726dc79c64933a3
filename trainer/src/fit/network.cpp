#include "formats/file_kind.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/network.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace rekindle::trainer {

namespace {

std::size_t outputs_of(const TargetMeaning& meaning) {
    return meaning.loss.kind == mlp::LossSpec::Kind::gaussian_nll ? 2 : 1;
}

mlp::ModelDescription read_model(const std::string& path) {
    try {
        return nlohmann::json::parse(read_file(path)).get<mlp::ModelDescription>();
    } catch (const nlohmann::json::exception& error) {
        throw usage_error(fmt::format("this is not a model description: {}", error.what()))
            .at(path)
            .hint("docs/formats/model.md describes the format; any run folder holds one as model.json.");
    }
}

} // namespace

mlp::ModelDescription network_of(const TrainConfig& config, std::size_t inputs,
                                 const TargetMeaning& meaning) {
    if (config.model.empty()) {
        const std::vector<std::size_t> hidden(config.hidden_layers.begin(), config.hidden_layers.end());
        auto model = mlp::ModelDescription::default_network(inputs, hidden, config.dropout_rate,
                                                            config.activation, outputs_of(meaning));
        model.initialization = mlp::Initialization::pytorch_default;
        return model;
    }
    mlp::ModelDescription model = read_model(config.model);
    model.validate();
    require_sizes(model, inputs, meaning, config.model);
    return model;
}

void require_sizes(const mlp::ModelDescription& model, std::size_t inputs, const TargetMeaning& meaning,
                   const std::string& where) {
    const std::size_t outputs = outputs_of(meaning);
    if (model.inputs != inputs || model.outputs() != outputs)
        throw usage_error(fmt::format("the network has {} and {}, the job needs {} and {}",
                                      counted(static_cast<std::int64_t>(model.inputs), "input"),
                                      counted(static_cast<std::int64_t>(model.outputs()), "output"),
                                      counted(static_cast<std::int64_t>(inputs), "feature"),
                                      counted(static_cast<std::int64_t>(outputs), "output")))
            .at(where);
}

mlp::TrainingSpec training_spec(const TrainConfig& config, const Dataset& set, std::size_t threads) {
    return training_spec(config, set.meaning, set.split.train_end - set.split.train_begin, threads);
}

mlp::TrainingSpec training_spec(const TrainConfig& config, const TargetMeaning& meaning,
                                std::uint64_t training_rows, std::size_t threads) {
    mlp::TrainingSpec spec;
    spec.loss = meaning.loss;
    spec.optimizer.kind = config.optimizer;
    spec.optimizer.learning_rate = config.learning_rate;
    spec.optimizer.weight_decay = config.weight_decay;
    spec.optimizer.momentum = config.momentum;
    spec.schedule.kind = config.schedule;
    spec.schedule.plateau_patience = static_cast<int>(config.plateau_patience);
    spec.schedule.warmup_steps = static_cast<std::uint64_t>(config.warmup_steps);
    spec.accumulation_steps = static_cast<std::size_t>(config.gradient_accumulation_steps);
    const auto batch = static_cast<std::uint64_t>(config.batch_size);
    const std::uint64_t batches = (training_rows + batch - 1) / batch;
    spec.schedule.total_steps = static_cast<std::uint64_t>(config.epochs) *
                                ((batches + spec.accumulation_steps - 1) / spec.accumulation_steps);
    spec.clip_norm = config.clip_norm;
    spec.ema_decay = config.ema;
    spec.bf16_storage = config.use_mixed_precision;
    spec.seed = static_cast<std::uint64_t>(config.seed);
    spec.threads = threads;
    return spec;
}

std::vector<mlp::TrainingSpec> member_specs(const TrainConfig& config, const Dataset& set,
                                            std::size_t threads) {
    std::vector members(static_cast<std::size_t>(config.population), training_spec(config, set, threads));
    for (std::size_t k = 0; k < members.size(); ++k)
        members[k].seed += k;
    return members;
}

std::size_t parameter_count(const mlp::ModelDescription& model) {
    std::size_t count = 0;
    for (const mlp::Layer& layer : model.layers) {
        if (layer.kind == mlp::Layer::Kind::linear)
            count += (layer.inputs + 1) * layer.outputs;
        else if (layer.kind == mlp::Layer::Kind::layer_norm)
            count += 2 * layer.outputs;
    }
    return count;
}

mlp::Engine engine_with(const mlp::ModelDescription& model, mlp::TrainingSpec spec,
                        std::span<const mlp::NamedTensor> parameters) {
    spec.ema_decay = 0; // the parameters are already those that are evaluated
    mlp::Engine engine(model, spec);
    engine.initialize();
    engine.set_parameters(parameters);
    return engine;
}

std::string describe_network(const mlp::ModelDescription& model) {
    std::string text = std::to_string(model.inputs);
    for (const mlp::Layer& layer : model.layers)
        if (layer.kind == mlp::Layer::Kind::linear)
            text += fmt::format("-{}", layer.outputs);
    return text;
}

} // namespace rekindle::trainer
