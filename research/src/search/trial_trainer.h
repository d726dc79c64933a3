#pragma once
/// Trains the networks of trials: one trial per thread on the CPU, many trials as one population on GPUs.

#include "search/schedule.h"
#include "search/search_job.h"

#include <rekindle/mlp/model.h>
#include <rekindle/trainer/device.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace rekindle::research {

/// A trial to run, with everything that it needs.
struct ReadyTrial {
    PlannedTrial plan;
    nlohmann::ordered_json settings;
    trainer::TrainConfig config;
    std::shared_ptr<const TrialData> data;
    mlp::ModelDescription network;
};

/// The trials with their settings and data. Throws Error (usage) if settings leave too few rows.
std::vector<ReadyTrial> ready_trials(const StoredSearch& search, const SearchPoints& points,
                                     std::span<const PlannedTrial> plan, TrialDataCache& data);

class TrialTrainer {
  public:
    /// `total` is the number of trials in the search; --device auto uses it to choose the faster device.
    TrialTrainer(const trainer::TrainConfig& config, std::uint64_t total, ThreadPool& pool,
                 trainer::ProgressSink& progress);

    /// Returns the finished trials in order; no trials if the token asked to stop. Calls `report` on the
    /// calling thread with the number of network-steps that this call has done so far.
    std::vector<Trial> run(std::span<const ReadyTrial> trials,
                           const std::function<void(std::uint64_t steps)>& report,
                           const CancellationToken& cancellation);
    /// The number of trials that keep the CPU busy for about half a second, or a GPU for about five.
    std::size_t group_size() const noexcept { return group_; }

  private:
    bool on_cpu(const ReadyTrial& first);
    std::vector<Trial> run_on_cpu(std::span<const ReadyTrial> trials,
                                  const std::function<void(std::uint64_t)>& report,
                                  const CancellationToken& cancellation);
    std::vector<Trial> run_on_devices(std::span<const ReadyTrial> trials,
                                      const std::function<void(std::uint64_t)>& report,
                                      const CancellationToken& cancellation);

    const trainer::TrainConfig& config_;
    std::uint64_t total_;
    ThreadPool& pool_;
    trainer::ProgressSink& progress_;
    std::optional<trainer::DeviceChoice> devices_;
    std::optional<bool> cpu_;
    std::size_t group_;
    bool started_ = false; ///< a GPU has trained the first group
};

} // namespace rekindle::research
