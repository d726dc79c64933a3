#pragma once
/// Where the training runs: --device, --device-ids, and the original's options for several GPUs.

#include <rekindle/mlp/model.h>
#include <rekindle/mlp/population.h>
#include <rekindle/mlp/training.h>
#include <rekindle/runtime/device.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/device_name.h>
#include <rekindle/trainer/progress.h>

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace rekindle::trainer {

inline constexpr const char* doctor_hint =
    "rekindle doctor shows what is missing; --device cpu trains without a GPU.";

/// A device as it is shown to the user and recorded in device.json.
struct DeviceUse {
    std::string device; ///< Population::device
    std::string driver; ///< name and version; "" for the CPU
    std::string why;    ///< "requested with --device gpu:0", or the comparison that --device auto made
};

/// What will be trained, for choosing its device.
struct TrainingJob {
    const mlp::ModelDescription& model;
    const std::vector<mlp::TrainingSpec>& members;
    std::size_t batch_size = 0;
    std::int64_t epochs = 0;
    double steps = 0; ///< that each network still has to do
    std::size_t threads = 1;
};

struct PreparedPopulation {
    std::unique_ptr<mlp::Population> population; ///< its parameters are not set yet
    DeviceUse use;
};

/// Not thread-safe.
class DeviceChoice {
  public:
    /// Checks the settings and notes each difference from the original. With --device auto it starts to look
    /// for GPUs in a separate thread. Throws Error (usage) when a named device does not exist, or one network
    /// is to be spread over several.
    DeviceChoice(const TrainConfig& config, ProgressSink& progress);

    /// The population on the chosen devices. --device auto measures when that is worth the time. Throws Error
    /// when a named device cannot train it; --device auto then says so and continues with the others.
    PreparedPopulation prepare(const TrainingJob& job, ProgressSink& progress);

  private:
    struct Found {
        std::vector<runtime::DeviceInfo> devices;
        std::string reason; ///< when there are none
    };
    void start_search(const TrainConfig& config, ProgressSink& progress);
    void select_named_devices(const TrainConfig& config, ProgressSink& progress);
    PreparedPopulation prepare_named(const TrainingJob& job);
    PreparedPopulation prepare_fastest(const TrainingJob& job, ProgressSink& progress);
    std::vector<runtime::DeviceInfo> candidates(ProgressSink& progress);

    DeviceName requested_;
    std::vector<std::uint32_t> ids_;
    std::vector<runtime::DeviceInfo> named_;
    std::future<Found> found_;  ///< auto
    std::string no_gpu_reason_; ///< auto: why no GPU can be used
};

/// Rethrows runtime::Error as Error with a hint; `where` is the option that it is about.
[[noreturn]] void throw_as_error(const std::exception& failure, const std::string& where);

} // namespace rekindle::trainer
