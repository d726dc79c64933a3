#pragma once
/// Where the training runs: --device, --device-ids, and the original's options for several GPUs.

#include <rekindle/mlp/population.h>
#include <rekindle/runtime/device.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/device_name.h>
#include <rekindle/trainer/progress.h>
#include <rekindle/trainer/training_job.h>

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// A device as it is shown to the user and recorded in device.json.
struct DeviceUse {
    std::string device; ///< Population::device
    std::string driver; ///< name and version; "" for the CPU
    std::string why;    ///< "requested with --device gpu:0", or the comparison that --device auto made
};

struct PreparedPopulation {
    std::unique_ptr<mlp::Population> population; ///< its parameters are not set yet
    DeviceUse use;
};

struct OpenedDevice;

/// Not thread-safe.
class DeviceChoice {
  public:
    /// Checks the settings and notes each difference from the original. With --device auto it starts to look
    /// for GPUs in a separate thread. Throws Error (usage) when a named device does not exist, or one network
    /// is to be spread over several.
    DeviceChoice(const TrainConfig& config, ProgressSink& progress);

    /// The population on the chosen devices. --device auto measures when that is worth the time. Throws Error
    /// when a named device cannot train it; --device auto then says so and continues with the others. May be
    /// called for several jobs.
    /// The devices that a job gets stay open for the next one.
    PreparedPopulation prepare(const TrainingJob& job, ProgressSink& progress);
    /// Later jobs use the devices that the last one got: --device auto does not compare devices again.
    void keep_choice() noexcept { kept_ = true; }

  private:
    struct Found {
        std::vector<runtime::DeviceInfo> devices;
        std::string reason; ///< when there are none
    };
    void start_search(const TrainConfig& config, ProgressSink& progress);
    void select_named_devices(const TrainConfig& config, ProgressSink& progress);
    PreparedPopulation prepare_named(const TrainingJob& job);
    OpenedDevice open(const TrainingJob& job, const runtime::DeviceInfo& info);
    PreparedPopulation prepare_fastest(const TrainingJob& job, ProgressSink& progress);
    std::vector<runtime::DeviceInfo> candidates(ProgressSink& progress);

    runtime::DeviceSelector requested_;
    std::vector<std::uint32_t> ids_;
    std::vector<runtime::DeviceInfo> named_;
    std::shared_future<Found> found_; ///< with --device auto
    std::string no_gpu_reason_;       ///< with --device auto: why no GPU can be used
    std::map<std::string, std::shared_ptr<runtime::Device>> opened_; ///< by address
    std::string why_; ///< why the last job got named_, or the CPU if that is empty
    bool kept_ = false;
};

} // namespace rekindle::trainer
