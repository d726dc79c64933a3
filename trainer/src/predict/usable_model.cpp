#include "usable_model.h"

#include "formats/file_kind.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/model_file.h>
#include <rekindle/trainer/run_folder.h>
#include <rekindle/trainer/safetensors.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

namespace rekindle::trainer {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view metadata_suffix = "_metadata.json";
constexpr const char* metadata_key = "rekindle";

std::string beginning_of(const fs::path& path) {
    const MappedFile file(path);
    return std::string(file.text().substr(0, 4096));
}

Json parse_json(const fs::path& path) {
    try {
        return Json::parse(read_file(path));
    } catch (const nlohmann::json::exception& error) {
        throw usage_error(fmt::format("this is not JSON: {}", error.what())).at(path.string());
    }
}

/// The object "rekindle" of a run's metadata, or nothing: the original writes metadata under this name too.
std::optional<Json> details_in(const fs::path& metadata) {
    std::error_code none;
    if (!fs::is_regular_file(metadata, none))
        return std::nullopt;
    const Json json = parse_json(metadata);
    if (!json.is_object() || !json.contains(metadata_key))
        return std::nullopt;
    return json.at(metadata_key);
}

/// The metadata next to a weights file, from its run. model.pt holds the weights of the best epoch,
/// checkpoint.pt those of the last.
std::optional<Json> details_next_to(const fs::path& weights) {
    const std::string stem = weights.stem().string();
    const std::string name = stem == "model" ? "best_model" : stem == "checkpoint" ? "model_final" : stem;
    return details_in(weights.parent_path() / (name + std::string(metadata_suffix)));
}

UsableModel with_details(const Json& details, std::vector<mlp::NamedTensor> parameters,
                         const fs::path& source) {
    // Numbers from a pickle are all signed; a round trip through text makes counts unsigned again.
    UsableModel model{stored_model(Json::parse(details.dump()), source), std::move(parameters), {}, true, {}};
    check_tensors(model.stored.model, model.parameters, source.string());
    return model;
}

/// Reads a scaler file, a run's metadata or .pt file that holds one, or a run folder.
market::Scaler read_scaler(const fs::path& given) {
    const fs::path path = fs::is_directory(given) ? given / "best_model_metadata.json" : given;
    const bool archive = recognize(beginning_of(path), path.filename().string()).kind == FileKind::torch;
    const Json json = archive ? Json::parse(import_model(path).file.details.dump()) : parse_json(path);
    const Json* scaler = &json;
    for (const char* key : {metadata_key, "scaler"})
        if (scaler->is_object() && scaler->contains(key) && (*scaler)[key].is_object())
            scaler = &(*scaler)[key];
    try {
        return nlohmann::json(*scaler).get<market::Scaler>();
    } catch (const nlohmann::json::exception& error) {
        throw usage_error(fmt::format("this is not a scaler: {}", error.what())).at(path.string());
    } catch (Error& error) {
        throw error.at(path.string());
    }
}

/// A model with the rules of the original system: its sessions and profiles, and an output that is the logit
/// of (y + 1) / 2.
UsableModel original_model(ImportedModel imported, const PredictOptions& options) {
    const std::string path = options.model.string();
    if (options.scaler.empty())
        throw usage_error(
            "the file holds no scaler, and without the one from its training the inputs mean nothing")
            .at(path)
            .hint(
                "rekindle import-model FILE --data BARS fits one to the bars that the network was trained on "
                "and writes a run folder for --model. rekindle predict also takes a scaler with --scaler "
                "FILE (docs/formats/scaler.md). For a file of rekindle train, give its run folder: --model "
                "RUN.");
    UsableModel model{{}, std::move(imported.file.parameters), {}, false, {}};
    model.stored.model = std::move(imported.file.model);
    if (model.stored.model.outputs() != 1)
        throw usage_error(
            fmt::format("the network has {}, the original's has one",
                        counted(static_cast<std::int64_t>(model.stored.model.outputs()), "output")))
            .at(path);
    model.stored.scaler = read_scaler(options.scaler);
    if (model.stored.scaler.features.size() != model.stored.model.inputs)
        throw usage_error(
            fmt::format("the scaler has {}, the network {}",
                        counted(static_cast<std::int64_t>(model.stored.scaler.features.size()), "feature"),
                        counted(static_cast<std::int64_t>(model.stored.model.inputs), "input")))
            .at(options.scaler.string());
    model.stored.config = options.input;
    model.stored.config.compat = Compat::original;
    if (!options.given.contains("clock"))
        model.stored.config.clock = market::Clock::raw;
    model.stored.meaning = target_meaning(model.stored.config);
    model.notes.emplace_back(
        "The file does not say what its output means: it is read as the original's, the logit of (y + 1) / "
        "2, and the features are computed by the original's rules (--compat original).");
    return model;
}

UsableModel from_torch(const PredictOptions& options) {
    ImportedModel imported = import_model(options.model);
    std::optional<Json> details;
    if (!imported.needs_scaler)
        details = std::move(imported.file.details);
    else
        details = details_next_to(options.model);
    if (details)
        return with_details(*details, std::move(imported.file.parameters), options.model);
    return original_model(std::move(imported), options);
}

UsableModel from_safetensors(const PredictOptions& options) {
    SafeTensors file = read_safetensors(options.model);
    if (file.metadata.contains("networks"))
        throw usage_error(fmt::format("this file holds the weights of all {} networks of a population",
                                      file.metadata.at("networks")))
            .at(options.model.string())
            .expected("one network")
            .hint("Give the run folder to predict with the mean of all, or its best_model.safetensors "
                  "for the best one.");
    if (const auto own = file.metadata.find(metadata_key); own != file.metadata.end()) {
        const Json details = Json::parse(own->second, nullptr, false);
        if (details.is_discarded())
            throw usage_error("its metadata cannot be read").at(options.model.string());
        return with_details(details, std::move(file.tensors), options.model);
    }
    if (const auto details = details_next_to(options.model))
        return with_details(*details, std::move(file.tensors), options.model);
    return original_model(import_tensors(std::move(file.tensors), options.model.string()), options);
}

/// Reads the networks of population.safetensors, whose tensors have a first dimension for the network. Leaves
/// out networks that are NaN because they diverged in their first epoch.
std::vector<std::vector<mlp::NamedTensor>> networks_of(const fs::path& path,
                                                       const mlp::ModelDescription& model) {
    const SafeTensors file = read_safetensors(path);
    std::vector<std::vector<mlp::NamedTensor>> networks;
    const std::size_t count =
        file.tensors.empty() || file.tensors.front().shape.empty() ? 0 : file.tensors.front().shape.front();
    for (std::size_t n = 0; n < count; ++n) {
        std::vector<mlp::NamedTensor> network;
        bool finite = true;
        for (const mlp::NamedTensor& tensor : file.tensors) {
            if (tensor.shape.empty() || tensor.shape.front() != count)
                throw usage_error(
                    fmt::format("the tensor {} is not of {}", tensor.name, counted(count, "network")))
                    .at(path.string());
            const std::size_t size = tensor.values.size() / count;
            const auto values = std::span(tensor.values).subspan(n * size, size);
            network.push_back({tensor.name,
                               {tensor.shape.begin() + 1, tensor.shape.end()},
                               {values.begin(), values.end()}});
            finite = finite && std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
        }
        if (!finite)
            continue;
        check_tensors(model, network, path.string());
        networks.push_back(std::move(network));
    }
    return networks;
}

/// Adds the networks of the run's population, if it has one, and their common scores.
void add_population(UsableModel& model, const fs::path& folder) {
    const fs::path path = folder / "population.safetensors";
    if (!fs::exists(path))
        return;
    const fs::path metadata = folder / "best_model_metadata.json";
    const auto details = details_in(metadata);
    if (!details || !details->contains("population"))
        throw usage_error("the run has the networks of a population, but its metadata does not say so")
            .at(metadata.string());
    from_json(details->at("population").at("mean_of_all"), model.stored.evaluation);
    model.networks = networks_of(path, model.stored.model);
}

UsableModel from_run(const fs::path& folder) {
    const RunFolder run = RunFolder::open(folder);
    const fs::path weights = run.path() / "best_model.safetensors";
    UsableModel model{read_stored_model(run.path()), read_safetensors(weights).tensors, {}, true, {}};
    check_tensors(model.stored.model, model.parameters, weights.string());
    add_population(model, run.path());
    return model;
}

/// A JSON file of a run; only metadata files lead to a model.
UsableModel from_json_file(const PredictOptions& options) {
    const std::string name = options.model.filename().string();
    const Json json = parse_json(options.model);
    const auto has = [&](const char* key) { return json.is_object() && json.contains(key); };
    if (has(metadata_key) && name.ends_with(metadata_suffix)) {
        const std::string stem = name.substr(0, name.size() - metadata_suffix.size());
        for (const char* extension : {".safetensors", ".pt"}) {
            const fs::path weights = options.model.parent_path() / (stem + extension);
            if (!fs::exists(weights))
                continue;
            auto tensors = std::string_view(extension) == ".pt" ? import_model(weights).file.parameters
                                                                : read_safetensors(weights).tensors;
            return with_details(json.at(metadata_key), std::move(tensors), options.model);
        }
        throw usage_error("this is a model's metadata, and its weights are not next to it")
            .at(options.model.string())
            .expected(stem + ".pt or " + stem + ".safetensors in the same folder");
    }
    const char* what =
        has("layers") ? "the description of a network, without weights"
        : has("center") || has("centre") /* codespell:ignore */ ? "a scaler; it goes to --scaler"
        : has("epochs") && has("learning_rate")                 ? "the configuration of a run"
        : has("architecture")              ? "the metadata of a model of the original system"
        : json.is_array() || has("device") ? "the record of where a run trained"
                                           : "a JSON file without a model's metadata";
    throw usage_error(fmt::format("this is {}, not a trained network", what))
        .at(options.model.string())
        .expected("a run folder, its best_model.pt or best_model.safetensors")
        .hint("Use --model RUN with the run folder that holds this file.");
}

UsableModel from_file(const PredictOptions& options) {
    const std::string beginning = beginning_of(options.model);
    const RecognizedFile file = recognize(beginning, options.model.filename().string());
    switch (file.kind) {
    case FileKind::torch:
        return from_torch(options);
    case FileKind::safetensors:
        return from_safetensors(options);
    case FileKind::json:
        return from_json_file(options);
    case FileKind::other:
        break;
    }
    Error error =
        usage_error(file.what.empty() ? std::string("this file is of an unknown kind")
                                      : fmt::format("this file is {}, not a trained network", file.what));
    error.at(options.model.string()).expected("a run folder, a PyTorch .pt file or a .safetensors file");
    if (!file.advice.empty())
        error.hint(file.advice);
    throw error;
}

/// Refuses checkpoints/ and logs/ of a run, naming the run folder.
void refuse_part_of_run(const fs::path& folder) {
    std::error_code none;
    const fs::path parent = fs::absolute(folder / ".", none).lexically_normal().parent_path().parent_path();
    if (!fs::exists(folder / "config.json", none) && fs::exists(parent / "config.json", none))
        throw usage_error("this folder is part of a run, not the run folder")
            .at(folder.string())
            .hint(fmt::format("Give the run folder: --model {}", parent.string()));
}

} // namespace

UsableModel load_usable_model(const PredictOptions& options) {
    if (!fs::exists(options.model))
        throw usage_error("there is no such model")
            .at(options.model.string())
            .expected("a run folder, a .pt or a .safetensors file");
    const bool folder = fs::is_directory(options.model);
    if (folder)
        refuse_part_of_run(options.model);
    UsableModel model = folder ? from_run(options.model) : from_file(options);
    if (model.evaluated && !options.scaler.empty())
        throw usage_error(
            "the model has its own scaler from training; a different one would change its inputs")
            .at("--scaler")
            .hint("Omit the option.");
    return model;
}

} // namespace rekindle::trainer
