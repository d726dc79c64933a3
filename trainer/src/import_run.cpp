#include "formats/file_kind.h"
#include "predict/trained_run.h"
#include "report/outputs.h"
#include "scores/validation.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/features.h>
#include <rekindle/trainer/import_run.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/model_file.h>
#include <rekindle/trainer/network.h>
#include <rekindle/trainer/safetensors.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rekindle::trainer {

namespace fs = std::filesystem;

namespace {

ImportedModel read_network(const fs::path& path) {
    if (!fs::exists(path))
        throw usage_error("there is no such file").at(path.string()).expected("a .pt or .safetensors file");
    if (fs::is_directory(path))
        throw usage_error("this is a folder")
            .at(path.string())
            .expected("a .pt or .safetensors file of the original system")
            .hint(
                "A run folder of rekindle train needs no import: predict --model and train --model take it.");
    const std::string beginning = [&] { return std::string(MappedFile(path).text().substr(0, 4096)); }();
    const RecognizedFile file = recognize(beginning, path.filename().string());
    ImportedModel imported;
    if (file.kind == FileKind::torch)
        imported = import_model(path);
    else if (file.kind == FileKind::safetensors)
        imported = import_tensors(read_safetensors(path).tensors, path.string());
    else
        throw usage_error(file.what.empty()
                              ? std::string("this file is of an unknown kind")
                              : fmt::format("this file is {}, not a trained network", file.what))
            .at(path.string())
            .expected("a .pt or .safetensors file")
            .hint(file.advice);
    if (!imported.needs_scaler)
        throw usage_error("rekindle train wrote this file, and it has everything that a prediction needs")
            .at(path.string())
            .hint(fmt::format("Use it directly: rekindle predict --model {}", path.string()));
    return imported;
}

/// The original computes 14 features of the session and ten for each look-back, but skips look-backs for
/// which there are too few sessions.
std::vector<std::string> original_features(std::size_t inputs, const std::string& path) {
    std::vector<std::string> names;
    for (const market::SessionFeature& feature : market::session_feature_table())
        if (feature.info.group == "session")
            names.push_back(feature.info.name);
    constexpr std::array<std::size_t, 5> sizes{14, 24, 34, 44, 54};
    if (std::ranges::find(sizes, inputs) == sizes.end() || names.size() < inputs)
        throw usage_error(fmt::format("the network has {}, and its file does not name them",
                                      counted(static_cast<std::int64_t>(inputs), "input")))
            .at(path)
            .expected("54 inputs, or 14, 24, 34 or 44 if the look-backs did not fit the data")
            .hint("Only networks of the original's train.py, with one row per session, can be imported.");
    names.resize(inputs);
    return names;
}

/// The names in the file, if they are ours; the original also wrote "feature_0" and so on.
std::vector<std::string> feature_names(const ImportedModel& imported, const std::string& path) {
    const std::vector<std::string>& named = imported.file.feature_columns;
    const bool numbered =
        std::ranges::any_of(named, [](const std::string& name) { return name.starts_with("feature_"); });
    return imported.needs_feature_names || numbered ? original_features(imported.file.model.inputs, path)
                                                    : named;
}

TrainConfig original_config(ImportOptions& options, const ModelFile& file) {
    TrainConfig config = std::move(options.config);
    config.compat = Compat::original;
    if (!options.given.contains("clock"))
        config.clock = market::Clock::raw;
    config.hidden_layers = file.hidden_layers;
    config.dropout_rate = file.dropout_rate;
    for (std::string& path : config.data)
        path = fs::absolute(path).lexically_normal().string();
    return config;
}

/// Removes the edge from the verdict, because the network may have been trained on these rows.
Evaluation without_edge(Evaluation evaluation) {
    if (evaluation.has_edge) {
        evaluation.has_edge = false;
        evaluation.verdict = {
            "Edge unknown",
            "the scores are better than the baseline, but on rows that the network may have "
            "been trained on",
            evaluation.verdict.text()};
    }
    evaluation.verdict.details +=
        " The file does not say which rows the network was trained on; only sessions "
        "after its training show what it is worth.";
    return evaluation;
}

std::string scaler_fact(const Dataset& set) {
    const auto date = [&](std::size_t row) { return market::format_date(set.matrix.dates[row]); };
    return fmt::format(
        "scaler: {}, fitted to the first {} of {}, {} to {}. The original fitted its own to all rows and did "
        "not save it.",
        market::to_string(set.scaler.kind), with_thousands(static_cast<std::int64_t>(set.split.train_end)),
        counted(static_cast<std::int64_t>(set.matrix.rows()), "row"), date(set.split.train_begin),
        date(set.split.train_end - 1));
}

std::vector<std::string> facts_of(const ImportedModel& imported, const Dataset& set, const fs::path& path) {
    const ModelFile& file = imported.file;
    std::string origin = path.filename().string();
    if (file.epoch > 0)
        origin += fmt::format(", epoch {}", file.epoch);
    if (std::isfinite(file.loss))
        origin += fmt::format(", loss {:.4f}", file.loss);
    std::vector<std::string> facts{
        fmt::format("network: {} with {}, from {}", describe_network(file.model),
                    counted(static_cast<std::int64_t>(parameter_count(file.model)), "parameter"), origin)};
    facts.push_back(fmt::format(
        "features: {} {}, computed by the original's rules (--compat original)", set.matrix.columns(),
        imported.needs_feature_names ? "in the original's order, because the file does not name them"
                                     : "that the file names"));
    facts.push_back(scaler_fact(set));
    facts.push_back(fmt::format(
        "output: a logit z, because the original trained (y + 1) / 2 with cross-entropy. It stands for a log "
        "return of 2 / (1 + exp(-z)) - 1, about z / 2: the original's threshold of 0.5 is a return of {:.0f} "
        "% in one session.",
        100 * set.meaning.value(0.5)));
    return facts;
}

} // namespace

ImportOutcome import_run(ImportOptions options, ProgressSink& sink, const CancellationToken& cancellation) {
    const std::string path = options.model.string();
    ImportedModel imported = read_network(options.model);
    if (imported.file.model.outputs() != 1)
        throw usage_error(
            fmt::format("the network has {}, the original's has one",
                        counted(static_cast<std::int64_t>(imported.file.model.outputs()), "output")))
            .at(path);
    const std::vector<std::string> names = feature_names(imported, path);
    const TrainConfig config = original_config(options, imported.file);
    RunFolder folder = RunFolder::prepare(config.output);
    LoggedProgress progress(sink);
    ThreadPool pool(static_cast<std::size_t>(config.threads));
    const MarketData data =
        load_market_data(config, folder.path() / "bars.columns", pool, progress, cancellation);
    const Dataset set = build_dataset(config, data, pool, progress, workspace_of(config, folder.path()),
                                      ModelInputs{names, std::nullopt, 1, 0});
    const mlp::TrainingSpec spec = training_spec(config, set, pool.size());
    FitResult fit;
    fit.best_parameters = imported.file.parameters;
    fit.best_epoch = imported.file.epoch;
    fit.members.emplace_back();
    const mlp::Engine engine = engine_with(imported.file.model, spec, fit.best_parameters);
    const auto predicted = validation_predictions(set, engine);
    const Evaluation evaluation = without_edge(
        evaluate_on_validation(set, predicted, Baselines(set), static_cast<std::uint64_t>(config.seed)));
    ImportOutcome outcome;
    outcome.interrupted = cancellation.requested();
    if (outcome.interrupted)
        return outcome;

    folder.write_config(config);
    folder.publish();
    progress.open(folder.path());
    write_imported_model(folder, {config,
                                  std::span(&data, 1),
                                  set,
                                  imported.file.model,
                                  spec.optimizer,
                                  DeviceUse{"", "", "imported from " + options.model.filename().string()},
                                  fit,
                                  std::nullopt,
                                  evaluation,
                                  std::nullopt,
                                  {},
                                  validation_importance(set, engine, static_cast<std::uint64_t>(config.seed)),
                                  predicted,
                                  imported.notes,
                                  {}});
    outcome.run_folder = folder.path();
    outcome.facts = facts_of(imported, set, options.model);
    for (const Score& score : evaluation.scores)
        outcome.score_lines.push_back(describe(score));
    outcome.verdict = evaluation.verdict.text();
    return outcome;
}

} // namespace rekindle::trainer
