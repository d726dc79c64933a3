#include "walk_forward/run_store.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/safetensors.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace rekindle::research {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;
constexpr int job_format = 1;
constexpr const char* metadata_key = "networks";

std::string tensor_name(std::size_t fold, std::uint64_t seed) {
    return fmt::format("fold_{}.seed_{}", fold, seed);
}

/// Calls call(folder, job) for `folder` and each walk-forward folder beside it, in the order of names.
template <class Call>
void for_each_job_beside(const fs::path& folder, const Call& call) {
    std::vector<fs::path> folders;
    std::error_code code;
    const fs::path parent = fs::absolute(folder).lexically_normal().parent_path();
    for (const auto& entry : fs::directory_iterator(parent, code))
        if (fs::exists(entry.path() / walk_forward_run.config_name, code))
            folders.push_back(entry.path());
    std::ranges::sort(folders);
    for (const fs::path& one : folders) {
        const Json json = Json::parse(read_file(one / walk_forward_run.config_name), nullptr, false);
        if (json.is_object())
            call(one, json);
    }
}

} // namespace

Json rules_json(const WalkForwardRules& rules) {
    return {{"window", rules.window == Window::rolling ? "rolling" : "expanding"},
            {"folds", rules.folds},
            {"train_rows", rules.train_rows},
            {"final_share", rules.final_share},
            {"blocks", rules.blocks},
            {"test_blocks", rules.test_blocks},
            {"embargo_rows", rules.embargo_rows},
            {"embargo_seconds", rules.embargo_seconds}};
}

WalkForwardRules rules_of(const Json& json) {
    WalkForwardRules rules;
    rules.window = json.at("window") == "rolling" ? Window::rolling : Window::expanding;
    rules.folds = json.at("folds");
    rules.train_rows = json.at("train_rows");
    rules.final_share = json.at("final_share");
    rules.blocks = json.at("blocks");
    rules.test_blocks = json.at("test_blocks");
    rules.embargo_rows = json.at("embargo_rows");
    rules.embargo_seconds = json.at("embargo_seconds");
    return rules;
}

void write_job(const trainer::RunFolder& folder, const StoredJob& job) {
    Json config;
    to_json(config, job.config);
    const Json json{{"format", job_format},
                    {"rules", rules_json(job.rules)},
                    {"data_hash", job.data_hash},
                    {"final_hash", job.final_hash},
                    {"config", config}};
    write_file_atomically(folder.config_path(), json.dump(2) + "\n");
}

StoredJob read_job(const fs::path& path) {
    StoredJob job;
    try {
        const Json json = Json::parse(read_file(path));
        if (json.at("format") != job_format)
            throw usage_error(fmt::format("it has format {}", json.at("format").dump()))
                .expected(std::to_string(job_format));
        trainer::update_from_json(json.at("config"), job.config);
        job.rules = rules_of(json.at("rules"));
        job.data_hash = json.at("data_hash");
        job.final_hash = json.at("final_hash");
    } catch (const nlohmann::json::exception& error) {
        throw usage_error(fmt::format("this is not a walk-forward job: {}", error.what())).at(path.string());
    } catch (Error& error) {
        throw error.at(path.string());
    }
    return job;
}

FileJobStore::FileJobStore(fs::path folder) : folder_(std::move(folder)) {
    std::error_code code;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_, code))
        if (entry.path().extension() == ".safetensors")
            files.push_back(entry.path());
    std::ranges::sort(files);
    for (const fs::path& file : files)
        read(file);
    files_ = files.size();
}

void FileJobStore::read(const fs::path& path) {
    trainer::SafeTensors file = trainer::read_safetensors(path);
    std::map<std::string, std::vector<float>> outputs;
    for (mlp::NamedTensor& tensor : file.tensors)
        outputs[tensor.name] = std::move(tensor.values);
    try {
        for (const Json& network : Json::parse(file.metadata.at(metadata_key))) {
            NetworkResult result;
            const std::size_t fold = network.at("fold");
            const std::uint64_t seed = network.at("seed");
            result.diverged = network.at("diverged");
            if (!result.diverged) {
                result.training_loss = network.at("training_loss");
                const Json& errors = network.at("training_error");
                result.training_errors = errors.is_array() ? errors.get<std::vector<double>>()
                                                           : std::vector<double>{errors.get<double>()};
                result.test_loss = network.at("test_loss");
                result.permuted_losses = network.at("permuted_losses").get<std::vector<double>>();
                result.outputs = std::move(outputs.at(tensor_name(fold, seed)));
            }
            results_[{fold, seed}] = std::move(result);
        }
    } catch (const std::exception& error) {
        throw usage_error(fmt::format("the file of networks is damaged: {}", error.what()))
            .at(path.string())
            .hint("Remove the file, and its networks will be trained again.");
    }
}

std::optional<NetworkResult> FileJobStore::find(std::size_t fold, std::uint64_t seed) {
    const auto found = results_.find({fold, seed});
    if (found == results_.end())
        return std::nullopt;
    NetworkResult result = std::move(found->second);
    results_.erase(found);
    return result;
}

void FileJobStore::add(std::span<const NetworkJob> jobs, std::span<const NetworkResult> results) {
    ensure_directory(folder_);
    Json metadata = Json::array();
    std::vector<mlp::NamedTensor> tensors;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const NetworkResult& result = results[j];
        const std::uint64_t seed = jobs[j].training.seed;
        metadata.push_back(
            {{"fold", jobs[j].fold},
             {"seed", seed},
             {"diverged", result.diverged},
             {"training_loss", result.training_loss},
             {"training_error", result.training_errors.size() == 1 ? Json(result.training_errors.front())
                                                                   : Json(result.training_errors)},
             {"test_loss", result.test_loss},
             {"permuted_losses", result.permuted_losses}});
        if (!result.diverged)
            tensors.push_back({tensor_name(jobs[j].fold, seed), {result.outputs.size()}, result.outputs});
    }
    trainer::write_safetensors(folder_ / fmt::format("{:06}.safetensors", files_++), tensors,
                               {{metadata_key, metadata.dump()}});
}

std::vector<OpenedFinal> openings_of(const fs::path& folder, const std::string& final_hash) {
    std::vector<OpenedFinal> openings;
    for_each_job_beside(folder, [&](const fs::path& one, const Json& job) {
        std::error_code code;
        if (job.value("final_hash", "") != final_hash || !fs::exists(one / "final.json", code))
            return;
        const Json final_part = Json::parse(read_file(one / "final.json"), nullptr, false);
        openings.push_back({one.filename().string(),
                            final_part.is_object() ? final_part.value("opened", "") : std::string()});
    });
    std::ranges::stable_sort(openings, {}, &OpenedFinal::opened);
    return openings;
}

std::size_t jobs_on_same_data(const fs::path& folder, const std::string& data_hash) {
    std::size_t jobs = 0;
    for_each_job_beside(folder, [&](const fs::path&, const Json& job) {
        jobs += job.value("data_hash", "") == data_hash ? 1 : 0;
    });
    return jobs;
}

} // namespace rekindle::research
