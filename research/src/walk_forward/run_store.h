#pragma once
/// The files of a walk-forward folder that make it resumable (docs/formats/walk-forward.md).

#include <rekindle/research/walk_forward.h>
#include <rekindle/trainer/run_folder.h>

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rekindle::research {

inline constexpr trainer::RunKind walk_forward_run{"walk_forward_", "walk-forward.json",
                                                   "walk-forward folder"};

nlohmann::ordered_json rules_json(const WalkForwardRules& rules);
/// Throws nlohmann::json::exception for a missing key or a wrong type.
WalkForwardRules rules_of(const nlohmann::ordered_json& json);

/// walk-forward.json: what the job is, so that it can be resumed and recognized.
struct StoredJob {
    trainer::TrainConfig config;
    WalkForwardRules rules;
    std::string data_hash;  ///< of features, targets and times
    std::string final_hash; ///< of the rows of the final part: jobs with the same one share it
};

void write_job(const trainer::RunFolder& folder, const StoredJob& job);
/// Throws Error (usage) naming the file and what is wrong.
StoredJob read_job(const std::filesystem::path& path);

/// Keeps finished networks in networks/NNNNNN.safetensors, one file for each group that trained together.
/// Not thread-safe.
class FileJobStore final : public JobStore {
  public:
    /// Reads the files that exist. Throws Error (usage) naming one that is damaged.
    explicit FileJobStore(std::filesystem::path folder);

    std::optional<NetworkResult> find(std::size_t fold, std::uint64_t seed) override;
    void add(std::span<const NetworkJob> jobs, std::span<const NetworkResult> results) override;
    std::size_t networks() const noexcept { return results_.size(); }

  private:
    void read(const std::filesystem::path& path);

    std::filesystem::path folder_;
    std::size_t files_ = 0;
    std::map<std::pair<std::size_t, std::uint64_t>, NetworkResult> results_;
};

/// When and with which result the final part was opened: final.json of a folder.
struct OpenedFinal {
    std::string folder; ///< its name
    std::string opened; ///< "2026-11-26 12:00:00 UTC"
};
/// The jobs beside `folder` (and itself) that have opened the same final part, oldest first.
std::vector<OpenedFinal> openings_of(const std::filesystem::path& folder, const std::string& final_hash);
/// The folders beside `folder` (and itself) that hold a job on the same data: what was tried.
std::size_t jobs_on_same_data(const std::filesystem::path& folder, const std::string& data_hash);

} // namespace rekindle::research
