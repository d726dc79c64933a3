#pragma once
/// Where the training runs: --device, --device-ids, and what the original's options for several GPUs mean
/// here.

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
    "rekindle doctor says what is missing; --device cpu trains without a GPU.";

/// A device as a person is told of it and as device.json keeps it.
struct DeviceUse {
    std::string device; ///< Population::device
    std::string driver; ///< name and version; "" for the CPU
    std::string why;    ///< "asked for with --device gpu:0", or the comparison that --device auto made
};

/// What is to be trained, for the choice of its device.
struct TrainingJob {
    const mlp::ModelDescription& model;
    const std::vector<mlp::TrainingSpec>& members;
    std::size_t batch_size = 0;
    std::int64_t epochs = 0;
    double steps = 0; ///< that each network has before it
    std::size_t threads = 1;
};

struct PreparedPopulation {
    std::unique_ptr<mlp::Population> population; ///< its parameters are not set yet
    DeviceUse use;
};

/// Not thread-safe.
class DeviceChoice {
  public:
    /// Checks the settings and says in a sentence each what differs here from the original. With --device
    /// auto it begins to look for GPUs in a thread of its own. Throws Error (usage) when a device is named
    /// that is not there, or one network shall be spread over several.
    DeviceChoice(const TrainConfig& config, ProgressSink& progress);

    /// The population on the chosen devices. --device auto measures when that is worth its time. Throws Error
    /// when a device that was named cannot do it; --device auto then says so and goes on with the others.
    PreparedPopulation prepare(const TrainingJob& job, ProgressSink& progress);

  private:
    struct Found {
        std::vector<runtime::DeviceInfo> devices;
        std::string reason; ///< when there are none
    };
    void look(const TrainConfig& config, ProgressSink& progress);
    void name_devices(const TrainConfig& config, ProgressSink& progress);
    PreparedPopulation prepare_named(const TrainingJob& job);
    PreparedPopulation prepare_fastest(const TrainingJob& job, ProgressSink& progress);
    std::vector<runtime::DeviceInfo> candidates(ProgressSink& progress);

    DeviceName wanted_;
    std::vector<std::uint32_t> ids_;
    std::vector<runtime::DeviceInfo> named_;
    std::future<Found> found_; ///< auto
    std::string none_why_;     ///< auto: why no GPU can be used
};

/// runtime::Error in the words of this project; `where` is the option that it is about.
[[noreturn]] void throw_as_error(const std::exception& failure, const std::string& where);

} // namespace rekindle::trainer
