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

/// The contents of walk-forward.json, which identify a job and let it resume.
struct StoredJob {
    trainer::TrainConfig config;
    WalkForwardRules rules;
    std::string data_hash;  ///< of features, targets and times
    std::string final_hash; ///< of the rows of the final part; jobs with the same hash share it
};

void write_job(const trainer::RunFolder& folder, const StoredJob& job);
/// Throws Error (usage) that names the file and the mistake.
StoredJob read_job(const std::filesystem::path& path);

/// Keeps finished networks in networks/NNNNNN.safetensors, one file per group that trained together.
/// Not thread-safe.
class FileJobStore final : public JobStore {
  public:
    /// Reads the existing files. Throws Error (usage) that names a damaged file.
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

/// When a job opened its final part, from the final.json of its folder.
struct OpenedFinal {
    std::string folder; ///< its name
    std::string opened; ///< "2026-11-26 12:00:00 UTC"
};
/// The jobs in and beside `folder` that have opened the same final part, oldest first.
std::vector<OpenedFinal> openings_of(const std::filesystem::path& folder, const std::string& final_hash);
/// The number of jobs in and beside `folder` on the same data, which count as trials.
std::size_t jobs_on_same_data(const std::filesystem::path& folder, const std::string& data_hash);

} // namespace rekindle::research
