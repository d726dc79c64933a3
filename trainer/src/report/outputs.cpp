#include "outputs.h"

#include "population_files.h"
#include "predict/run_metadata.h"
#include "run_report.h"

#include <rekindle/foundation/file.h>
#include <rekindle/trainer/model_file.h>
#include <rekindle/trainer/safetensors.h>
#include <rekindle/trainer/torch_archive.h>

#include <nlohmann/json.hpp>

#include <map>
#include <optional>

namespace rekindle::trainer {

namespace {

namespace fs = std::filesystem;

OptimizerFile optimizer_file(const mlp::OptimizerSpec& spec, const OptimizerMoments& moments) {
    return {spec, moments.learning_rate, moments.steps, moments.first, moments.second};
}

/// The common contents of both model files.
ModelFile model_file(const RunFolder& folder, const TrainedRun& run,
                     const std::vector<mlp::NamedTensor>& parameters, std::int64_t epoch,
                     std::optional<OptimizerFile> optimizer) {
    ModelFile file;
    file.version = "v" + folder.timestamp();
    file.timestamp = "v" + timestamp_now();
    file.model = run.model;
    file.hidden_layers = run.config.hidden_layers;
    file.dropout_rate = run.config.dropout_rate;
    file.feature_columns = run.set.matrix.names;
    file.parameters = parameters;
    file.optimizer = std::move(optimizer);
    file.epoch = epoch;
    if (epoch >= 1 && static_cast<std::size_t>(epoch) <= run.fit.history.size()) {
        const EpochMetrics& metrics = run.fit.history[static_cast<std::size_t>(epoch) - 1];
        file.loss = file.validation_loss = metrics.validation_loss;
        file.train_loss = metrics.train_loss;
        file.accuracy = metrics.accuracy;
    }
    file.history = run.fit.history;
    file.training_seconds = run.fit.training_seconds;
    file.details = run_metadata(run);
    return file;
}

void write_safetensors_of(const fs::path& path, const TrainedRun& run,
                          const std::vector<mlp::NamedTensor>& parameters) {
    write_safetensors(path, parameters,
                      {{"format", "pt"},
                       {"model", nlohmann::json(run.model).dump()},
                       {"rekindle", reusable_metadata(run).dump()}});
}

/// A checkpoint with the original's keys, for its tools; Rekindle resumes from checkpoints/.
void write_original_checkpoint(const fs::path& path, const TrainedRun& run, const OptimizerFile& optimizer) {
    TorchArchiveBuilder builder;
    PickleDocument& document = builder.document();
    const PickleId root = document.dict();
    document.insert(root, "epoch", document.integer(static_cast<std::int64_t>(run.fit.history.size())));
    document.insert(root, "batch_idx", document.integer(0));
    document.insert(root, "model_state_dict", builder.state_dict(run.fit.final_parameters));
    document.insert(root, "optimizer_state_dict",
                    optimizer_state_dict(builder, optimizer, run.fit.final_parameters.size()));
    document.insert(root, "scaler_state_dict", document.none()); // bfloat16 needs no loss scaling
    document.insert(root, "avg_loss",
                    document.real(run.fit.history.empty() ? 0.0 : run.fit.history.back().train_loss));
    document.insert(root, "gradient_accumulation_steps",
                    document.integer(run.config.gradient_accumulation_steps));
    write_torch_archive(path, std::move(builder), root);
}

} // namespace

void write_imported_model(const RunFolder& folder, const TrainedRun& run) {
    const fs::path& path = folder.path();
    write_file_atomically(path / "model.json", nlohmann::json(run.model).dump(2) + "\n");
    write_safetensors_of(path / "best_model.safetensors", run, run.fit.best_parameters);
    write_model_file(path / "best_model.pt",
                     model_file(folder, run, run.fit.best_parameters, run.fit.best_epoch, std::nullopt));
}

void write_outputs(const RunFolder& folder, const TrainedRun& run) {
    const fs::path& path = folder.path();
    const OptimizerFile last = optimizer_file(run.optimizer, run.fit.final_optimizer);
    write_model_file(path / "model_final.pt",
                     model_file(folder, run, run.fit.final_parameters,
                                static_cast<std::int64_t>(run.fit.history.size()), last));
    write_safetensors_of(path / "model_final.safetensors", run, run.fit.final_parameters);
    write_original_checkpoint(path / "checkpoint.pt", run, last);
    write_state_dict(path / "model.pt", run.fit.best_parameters);
    write_file_atomically(path / "model.json", nlohmann::json(run.model).dump(2) + "\n");
    write_safetensors_of(path / "best_model.safetensors", run, run.fit.best_parameters);
    if (run.population) {
        write_population_table(path / "population.csv", run.fit);
        write_population_weights(path / "population.safetensors", run.model, run.fit);
    }
    write_run_report(folder, run);
    // Last: its metadata shows predict that the run is finished.
    write_model_file(path / "best_model.pt",
                     model_file(folder, run, run.fit.best_parameters, run.fit.best_epoch,
                                optimizer_file(run.optimizer, run.fit.best_optimizer)));
}

} // namespace rekindle::trainer
