#include "json_pickle.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/model_file.h>
#include <rekindle/trainer/torch_archive.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace rekindle::trainer {

namespace {

PickleId tensor_of(TorchArchiveBuilder& builder, const mlp::NamedTensor& tensor) {
    return builder.tensor(tensor.values, tensor.shape);
}

/// Settings that torch's optimizers keep per group and Rekindle does not use, with torch's defaults.
void insert_torch_defaults(PickleDocument& document, PickleId group, bool adamw) {
    document.insert(group, "maximize", document.boolean(false));
    document.insert(group, "foreach", document.none());
    document.insert(group, "differentiable", document.boolean(false));
    document.insert(group, "fused", document.none());
    if (!adamw)
        return;
    document.insert(group, "amsgrad", document.boolean(false));
    document.insert(group, "capturable", document.boolean(false));
    document.insert(group, "decoupled_weight_decay", document.boolean(true));
}

PickleId optimizer_group(PickleDocument& document, const OptimizerFile& optimizer, std::size_t parameters) {
    const bool adamw = optimizer.spec.kind == mlp::OptimizerSpec::Kind::adamw;
    const PickleId group = document.dict();
    document.insert(group, "lr", document.real(optimizer.learning_rate));
    document.insert(group, "weight_decay", document.real(optimizer.spec.weight_decay));
    if (adamw) {
        document.insert(
            group, "betas",
            document.tuple({document.real(optimizer.spec.beta1), document.real(optimizer.spec.beta2)}));
        document.insert(group, "eps", document.real(optimizer.spec.epsilon));
    } else {
        document.insert(group, "momentum", document.real(optimizer.spec.momentum));
        document.insert(group, "dampening", document.real(0));
        document.insert(group, "nesterov", document.boolean(false));
    }
    insert_torch_defaults(document, group, adamw);
    std::vector<PickleId> numbers;
    for (std::size_t i = 0; i < parameters; ++i)
        numbers.push_back(document.integer(static_cast<std::int64_t>(i)));
    document.insert(group, "params", document.list(std::move(numbers)));
    return group;
}

} // namespace

PickleId optimizer_state_dict(TorchArchiveBuilder& builder, const OptimizerFile& optimizer,
                              std::size_t parameters) {
    PickleDocument& document = builder.document();
    const bool adamw = optimizer.spec.kind == mlp::OptimizerSpec::Kind::adamw;
    const auto fits = [&](const auto& moments) { return moments.empty() || moments.size() == parameters; };
    if (!fits(optimizer.first_moments) || !fits(optimizer.second_moments) ||
        (adamw && optimizer.first_moments.size() != optimizer.second_moments.size()))
        throw internal_error("the optimizer of a model file has other parameters than its network");
    const PickleId state = document.dict();
    for (std::size_t i = 0; i < optimizer.first_moments.size(); ++i) {
        const PickleId entry = document.dict();
        if (adamw) {
            const std::array<float, 1> step{static_cast<float>(optimizer.steps)};
            document.insert(entry, "step", builder.tensor(step, {}));
            document.insert(entry, "exp_avg", tensor_of(builder, optimizer.first_moments[i]));
            document.insert(entry, "exp_avg_sq", tensor_of(builder, optimizer.second_moments[i]));
        } else {
            document.insert(entry, "momentum_buffer", tensor_of(builder, optimizer.first_moments[i]));
        }
        document.insert(state, document.integer(static_cast<std::int64_t>(i)), entry);
    }
    const PickleId result = document.dict();
    document.insert(result, "state", state);
    document.insert(result, "param_groups",
                    document.list({optimizer_group(document, optimizer, parameters)}));
    return result;
}

void write_model_file(const std::filesystem::path& path, const ModelFile& file) {
    const nlohmann::ordered_json metadata = model_metadata(file);
    TorchArchiveBuilder builder;
    PickleDocument& document = builder.document();
    const PickleId root = document.dict();
    document.insert(root, "model_state_dict", builder.state_dict(file.parameters));
    for (const auto& [key, value] : metadata.items()) {
        document.insert(root, key, pickle_from_json(document, value));
        if (key == "feature_columns" && file.optimizer)
            document.insert(root, "optimizer_state_dict",
                            optimizer_state_dict(builder, *file.optimizer, file.parameters.size()));
    }
    write_torch_archive(path, std::move(builder), root);

    std::filesystem::path metadata_path = path;
    metadata_path.replace_filename(path.stem().string() + "_metadata.json");
    const std::string text = metadata.dump(2) + "\n";
    model_from_metadata(nlohmann::ordered_json::parse(text));
    write_file_atomically(metadata_path, text);
}

namespace {

using Tensors = std::vector<mlp::NamedTensor>;

const mlp::NamedTensor* find_tensor(const Tensors& tensors, std::string_view name) {
    const auto found = std::ranges::find(tensors, name, &mlp::NamedTensor::name);
    return found == tensors.end() ? nullptr : &*found;
}

std::string shape_text(std::span<const std::size_t> shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Shape [outputs, inputs] of a Linear's weight.
std::array<std::size_t, 2> linear_shape(const mlp::NamedTensor& weight, const std::string& path) {
    if (weight.shape.size() != 2 || weight.shape[0] == 0 || weight.shape[1] == 0)
        throw usage_error(fmt::format("the tensor {} has shape {}", weight.name, shape_text(weight.shape)))
            .at(path)
            .expected("two sizes, outputs and inputs");
    return {weight.shape[0], weight.shape[1]};
}

/// The original network, with its sizes from the shapes of its tensors.
mlp::ModelDescription network_of(const Tensors& tensors, double dropout_rate, const std::string& path) {
    const mlp::NamedTensor* input = find_tensor(tensors, "input_layer.weight");
    const mlp::NamedTensor* output = find_tensor(tensors, "output_layer.weight");
    if (!input || !output) {
        std::vector<std::string_view> names;
        for (std::size_t i = 0; i < std::min<std::size_t>(tensors.size(), 4); ++i)
            names.push_back(tensors[i].name);
        throw usage_error("these are not the tensors of the original network")
            .at(path)
            .expected(fmt::format("input_layer.weight and output_layer.weight; the file has {}{}",
                                  fmt::join(names, ", "), tensors.size() > 4 ? ", …" : ""))
            .hint("Only networks from rekindle train and from the original's train.py can be read. rekindle "
                  "train --data BARS trains one.");
    }
    std::vector<std::size_t> hidden{linear_shape(*input, path)[0]};
    while (const auto* weight =
               find_tensor(tensors, fmt::format("hidden_layers.{}.0.weight", hidden.size() - 1)))
        hidden.push_back(linear_shape(*weight, path)[0]);
    return mlp::ModelDescription::default_network(linear_shape(*input, path)[1], hidden, dropout_rate,
                                                  mlp::Activation::silu, linear_shape(*output, path)[0]);
}

void note_missing_parts(ImportedModel& imported) {
    const ModelFile& file = imported.file;
    imported.needs_feature_names = file.feature_columns.size() != file.model.inputs;
    imported.needs_scaler = !file.details.contains("scaler") && !file.details.contains("instruments");
    if (imported.needs_feature_names)
        imported.notes.push_back(
            fmt::format("the file names {} for {}",
                        counted(static_cast<std::int64_t>(file.feature_columns.size()), "feature"),
                        counted(static_cast<std::int64_t>(file.model.inputs), "input")));
    if (imported.needs_scaler)
        imported.notes.emplace_back(
            "the file does not say how its features were scaled: a scaler must be given");
}

/// Removes the prefix that a wrapper put before the original's names: "model.", "net." and so on. Tensors
/// under other names (of a loss, of a metric) are skipped.
Tensors without_wrapper(Tensors tensors, std::vector<std::string>& notes) {
    constexpr std::string_view first = "input_layer.weight";
    if (find_tensor(tensors, first))
        return tensors;
    const auto is_wrapped = [&](const mlp::NamedTensor& tensor) {
        return tensor.name.ends_with("." + std::string(first));
    };
    if (std::ranges::count_if(tensors, is_wrapped) != 1)
        return tensors;
    const std::string name = std::ranges::find_if(tensors, is_wrapped)->name;
    const std::string prefix = name.substr(0, name.size() - first.size());
    Tensors inner;
    for (mlp::NamedTensor& tensor : tensors)
        if (tensor.name.starts_with(prefix)) {
            tensor.name.erase(0, prefix.size());
            inner.push_back(std::move(tensor));
        }
    notes.push_back(fmt::format("only the tensors under \"{}\" are used", prefix));
    return inner;
}

/// Derives the network from the tensors' shapes, for files that do not describe it.
void derive_network(ImportedModel& imported, const std::string& name) {
    ModelFile& file = imported.file;
    file.parameters = without_wrapper(std::move(file.parameters), imported.notes);
    // The number of models in a running average (torch.optim.swa_utils.AveragedModel).
    std::erase_if(file.parameters,
                  [](const mlp::NamedTensor& tensor) { return tensor.name == "n_averaged"; });
    file.model = network_of(file.parameters, file.dropout_rate, name);
    file.hidden_layers.clear();
    for (const mlp::Layer& layer : file.model.layers)
        if (layer.kind == mlp::Layer::Kind::linear && layer.name != "output_layer")
            file.hidden_layers.push_back(static_cast<std::int64_t>(layer.outputs));
    imported.notes.push_back(fmt::format("the network is derived from the tensors' shapes: {}, hidden {}",
                                         counted(static_cast<std::int64_t>(file.model.inputs), "input"),
                                         fmt::join(file.hidden_layers, ", ")));
}

} // namespace

void check_tensors(const mlp::ModelDescription& model, const std::vector<mlp::NamedTensor>& tensors,
                   const std::string& path) {
    std::vector<std::string> expected;
    const auto check = [&](const std::string& name, const std::vector<std::size_t>& shape) {
        const mlp::NamedTensor* tensor = find_tensor(tensors, name);
        if (!tensor || tensor->shape != shape)
            throw usage_error(tensor
                                  ? fmt::format("the tensor {} has shape {}", name, shape_text(tensor->shape))
                                  : fmt::format("the tensor {} is missing", name))
                .at(path)
                .expected(fmt::format("shape {}", shape_text(shape)));
        if (!std::ranges::all_of(tensor->values, [](float value) { return std::isfinite(value); }))
            throw usage_error(fmt::format("the tensor {} holds values that are not finite", name))
                .at(path)
                .hint("The training that wrote it had diverged: use the weights of an earlier epoch.");
        expected.push_back(name);
    };
    for (const mlp::Layer& layer : model.layers) {
        if (layer.kind == mlp::Layer::Kind::linear) {
            check(layer.name + ".weight", {layer.outputs, layer.inputs});
            check(layer.name + ".bias", {layer.outputs});
        } else if (layer.kind == mlp::Layer::Kind::layer_norm) {
            check(layer.name + ".weight", {layer.inputs});
            check(layer.name + ".bias", {layer.inputs});
        }
    }
    for (const mlp::NamedTensor& tensor : tensors)
        if (std::ranges::find(expected, tensor.name) == expected.end())
            throw usage_error(fmt::format("the network has no place for the tensor {}", tensor.name))
                .at(path)
                .expected(counted(static_cast<std::int64_t>(expected.size()), "tensor"));
}

ImportedModel import_tensors(std::vector<mlp::NamedTensor> tensors, const std::string& name) {
    ImportedModel imported;
    imported.file.parameters = std::move(tensors);
    derive_network(imported, name);
    check_tensors(imported.file.model, imported.file.parameters, name);
    note_missing_parts(imported);
    return imported;
}

ImportedModel import_model(const std::filesystem::path& path) {
    const TorchArchive archive = TorchArchive::read(path);
    ImportedModel imported;
    ModelFile& file = imported.file;
    const PickleValue root = archive.root();
    imported.written_by_rekindle = root.find("rekindle").has_value();
    auto metadata = nlohmann::ordered_json::object();
    for (const char* key :
         {"version", "timestamp", "architecture", "feature_columns", "epoch", "loss", "metadata", "rekindle"})
        if (const auto value = root.find(key))
            metadata[key] = json_from_pickle(*value);
    try {
        file = model_from_metadata(metadata);
    } catch (Error& error) {
        throw error.at(path.string());
    }
    file.parameters = state_dict_of(archive);
    if (!file.details.contains("model"))
        derive_network(imported, path.string());
    check_tensors(file.model, file.parameters, path.string());
    note_missing_parts(imported);
    return imported;
}

} // namespace rekindle::trainer
