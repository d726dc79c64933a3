#pragma once
/// The model files of a run folder: best_model.pt, model_final.pt, their _metadata.json, and files of the
/// original system. Format: docs/formats/torch-archive.md.

#include <rekindle/mlp/model.h>
#include <rekindle/mlp/training.h>
#include <rekindle/trainer/progress.h>
#include <rekindle/trainer/torch_archive.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// The state that torch.optim.AdamW or SGD would have.
struct OptimizerFile {
    mlp::OptimizerSpec spec;
    double learning_rate = 0; ///< of the next step
    std::uint64_t steps = 0;
    /// Per parameter, in the order of ModelFile::parameters: exp_avg (adamw) or momentum_buffer (sgd; empty
    /// without momentum).
    std::vector<mlp::NamedTensor> first_moments;
    std::vector<mlp::NamedTensor> second_moments; ///< exp_avg_sq (adamw)
};

/// Everything in a model file. Losses are in the unit of the loss; NaN where unknown.
struct ModelFile {
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    std::string version;   ///< "v20251031_120000", of the run, local time
    std::string timestamp; ///< the same form, of this file
    mlp::ModelDescription model;
    std::vector<std::int64_t> hidden_layers;
    double dropout_rate = 0;
    std::vector<std::string> feature_columns; ///< in input order
    std::vector<mlp::NamedTensor> parameters; ///< state-dict names
    std::optional<OptimizerFile> optimizer;
    std::int64_t epoch = 0; ///< from 1
    double loss = unknown;  ///< validation loss, or training loss without validation rows
    double accuracy = unknown, train_loss = unknown, validation_loss = unknown;
    std::vector<EpochMetrics> history;
    double training_seconds = unknown;
    /// Everything that the original has no key for (scaler, tick, session rules, data hash, seed, split
    /// dates, timings): an object, kept under the key "rekindle". Its key "model" is the network and is
    /// written by this library.
    nlohmann::ordered_json details = nlohmann::ordered_json::object();
};

/// The dictionary without the state dicts: the content of <name>_metadata.json. NaN becomes null.
nlohmann::ordered_json model_metadata(const ModelFile& file);
/// The reverse; `parameters` and `optimizer` stay empty. Throws Error (usage) naming the key that is wrong.
ModelFile model_from_metadata(const nlohmann::ordered_json& metadata);

/// The layout of torch.optim.Optimizer.state_dict(). Throws Error (internal) when the moments are not one per
/// parameter.
PickleId optimizer_state_dict(TorchArchiveBuilder& builder, const OptimizerFile& optimizer,
                              std::size_t parameters);

/// `<stem>.pt` and `<stem>_metadata.json`, each atomically, verified by reading it back first.
void write_model_file(const std::filesystem::path& path, const ModelFile& file);

/// A model file of Rekindle or of the original system.
struct ImportedModel {
    ModelFile file; ///< `model` comes from the file if it has one, else from the tensors' shapes
    bool written_by_rekindle = false;
    /// The file does not say how its features were scaled (the original never did): a scaler is needed.
    bool needs_scaler = false;
    /// The file names no features, or not as many as it has inputs.
    bool needs_feature_names = false;
    std::vector<std::string> notes; ///< for people: what was derived, ignored or is missing
};

/// Reads a .pt as data: no code in it is ever run. Optimizer moments are not read (a checkpoint has them).
/// Throws Error (usage) when the file is invalid, or its tensors are not those of the original network.
ImportedModel import_model(const std::filesystem::path& path);
/// The same for the tensors of a file that holds nothing else. `name` is for messages.
ImportedModel import_tensors(std::vector<mlp::NamedTensor> tensors, const std::string& name);

/// Every parameter of the network is there with its shape and finite values, and no other tensor. Throws
/// Error (usage) naming the tensor.
void check_tensors(const mlp::ModelDescription& model, const std::vector<mlp::NamedTensor>& tensors,
                   const std::string& name);

} // namespace rekindle::trainer
