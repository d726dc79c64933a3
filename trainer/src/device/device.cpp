#include "device_parts.h"
#include "fit/memory.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/mlp/engine.h>
#include <rekindle/trainer/device.h>
#include <rekindle/trainer/runtime_error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace rekindle::trainer {

namespace {

/// Measuring takes a few tenths of a second, which is not worth it for a run that the CPU finishes sooner.
constexpr double seconds_worth_measuring = 1.0;
constexpr double measured_seconds = 0.03; ///< on each device
constexpr std::size_t networks_per_thread_measured = 16;

/// One network does not gain from a second device; many networks do.
void check_strategy(const TrainConfig& config, std::size_t devices, ProgressSink& progress) {
    if (config.distributed_strategy == DistributedStrategy::automatic)
        return;
    if (devices > 1 && config.population == 1 && !config.no_distributed)
        throw usage_error(
            fmt::format("{} is not supported for one network: its gradients are a few kilobytes, so there is "
                        "nothing to shard, and summing them between two GPUs over PCIe takes 10 µs or more "
                        "(two transfers and two waits), while the whole step takes 2 to 5 µs on one GPU",
                        name_of(config.distributed_strategy)))
            .at("--distributed-strategy")
            .hint("--population N trains N networks together, spread over the devices of --device-ids.");
    const std::string option = fmt::format("--distributed-strategy {}", name_of(config.distributed_strategy));
    if (config.population > 1)
        progress.info(option + ": each network trains on one device; the population is spread over those of "
                               "--device-ids");
    else
        progress.warning(option + ": there is one process and one replica here, so nothing is distributed");
}

void note_differences(const TrainConfig& config, std::size_t devices, ProgressSink& progress) {
    if (config.no_distributed)
        progress.log(devices > 1 ? LogLevel::info : LogLevel::warning,
                     devices > 1 ? "--no-distributed: the first device of --device-ids is used"
                                 : "--no-distributed: no effect, only one device is used anyway");
    if (config.skip_gpu_cleanup)
        progress.warning("--skip-gpu-cleanup: no effect, there is no cleanup step to skip");
    if (config.use_mixed_precision)
        progress.info("--use-mixed-precision: weights and activations are stored as bfloat16, the master "
                      "weights as float32");
}

std::string ids_text(const std::vector<std::uint32_t>& ids) {
    return fmt::format("{}", fmt::join(ids, ","));
}

std::string cpu_name() {
    return fmt::format("cpu ({})", mlp::instruction_set());
}

std::string speed_text(const std::string& device, double network_steps_per_second) {
    return fmt::format("{} {:.3g} µs", device, 1e6 / network_steps_per_second);
}

PreparedPopulation on_cpu(const TrainingJob& job, std::string why) {
    require_memory(job.model, job.members.size(), job.epochs, TrainingDevice::cpu);
    return {mlp::cpu_population(job.model, job.members, job.threads), {cpu_name(), "", std::move(why)}};
}

/// A measured device. The CPU's population is created only if the CPU is chosen.
struct MeasuredDevice {
    std::unique_ptr<mlp::Population> population;
    std::string name, driver;
    double speed = 0; ///< network-steps per second
};

double cpu_speed(const TrainingJob& job) {
    const std::size_t members = std::min(job.members.size(), networks_per_thread_measured * job.threads);
    const auto population = mlp::cpu_population(
        job.model, {job.members.begin(), job.members.begin() + static_cast<std::ptrdiff_t>(members)},
        job.threads);
    return mlp::measure_speed(*population, job.batch_size, measured_seconds).network_steps_per_second;
}

} // namespace

DeviceChoice::DeviceChoice(const TrainConfig& config, ProgressSink& progress)
    : requested_(parse_device_name(config.device)), ids_(parse_device_ids(config.device_ids)) {
    check_strategy(config, ids_.size(), progress);
    note_differences(config, ids_.size(), progress);
    if (config.no_distributed && ids_.size() > 1)
        ids_.erase(ids_.begin() + 1, ids_.end());
    if (requested_.kind == runtime::DeviceSelector::Kind::cpu) {
        if (!ids_.empty())
            progress.warning(fmt::format("--device-ids {} has no effect with --device cpu", ids_text(ids_)));
        return;
    }
    if (ids_.size() > 1 && config.population == 1) {
        progress.warning(fmt::format(
            "--device-ids {}: one network trains on one device; --population N would use all of them",
            ids_text(ids_)));
        if (requested_.kind != runtime::DeviceSelector::Kind::automatic)
            ids_.erase(ids_.begin() + 1, ids_.end());
    }
    try {
        start_search(config, progress);
    } catch (const runtime::Error& error) {
        throw_as_error(error, "--device");
    }
}

void DeviceChoice::start_search(const TrainConfig& config, ProgressSink& progress) {
    if (requested_.kind != runtime::DeviceSelector::Kind::automatic) {
        select_named_devices(config, progress);
        return;
    }
    found_ = std::async(std::launch::async, [] {
                 Found found;
                 found.devices = runtime::list_devices(&found.reason);
                 return found;
             }).share();
}

void DeviceChoice::select_named_devices(const TrainConfig& config, ProgressSink& progress) {
    const auto take = [&](const runtime::DeviceSelector& name) {
        named_.push_back(find_device(name));
        if (const std::string warning = cpu_driver_warning(named_.back()); !warning.empty())
            progress.warning(warning);
    };
    const bool several = !ids_.empty() && requested_.kind == runtime::DeviceSelector::Kind::any_gpu;
    if (!several) {
        take(requested_);
        const std::uint32_t number = named_.back().number;
        if (ids_.empty() || ids_ == std::vector{number})
            return;
        if (std::find(ids_.begin(), ids_.end(), number) == ids_.end())
            throw usage_error(
                fmt::format("--device {} is not among the devices {}", config.device, ids_text(ids_)))
                .at("--device-ids");
        named_.clear();
    }
    for (const std::uint32_t id : ids_)
        take({runtime::DeviceSelector::Kind::number, id, requested_.must_be_gpu, requested_.text});
}

PreparedPopulation DeviceChoice::prepare(const TrainingJob& job, ProgressSink& progress) {
    if (requested_.kind == runtime::DeviceSelector::Kind::cpu)
        return on_cpu(job, "requested with --device cpu");
    if (kept_ && named_.empty())
        return on_cpu(job, why_);
    try {
        return requested_.kind == runtime::DeviceSelector::Kind::automatic && !kept_
                   ? prepare_fastest(job, progress)
                   : prepare_named(job);
    } catch (const runtime::Error& error) {
        throw_as_error(error, "--device");
    }
}

PreparedPopulation DeviceChoice::prepare_named(const TrainingJob& job) {
    std::vector<OpenedDevice> devices;
    std::string driver;
    for (const runtime::DeviceInfo& info : named_) {
        devices.push_back(open(job, info));
        driver += (driver.empty() ? "" : " + ") + driver_of(info);
    }
    auto population = spread_over(devices, job);
    std::string name = population->device();
    if (!kept_)
        why_ = fmt::format("requested with --device {}", requested_.text);
    return {std::move(population), {std::move(name), driver, why_}};
}

OpenedDevice DeviceChoice::open(const TrainingJob& job, const runtime::DeviceInfo& info) {
    std::shared_ptr<runtime::Device>& device = opened_[info.address()];
    if (!device)
        device = runtime::Device::open(info);
    OpenedDevice opened{info, device};
    require_acceptance(opened, job);
    return opened;
}

/// The accepted GPUs that --device auto may use; notes name the skipped ones.
std::vector<runtime::DeviceInfo> DeviceChoice::candidates(ProgressSink& progress) {
    std::vector<runtime::DeviceInfo> usable;
    Found found;
    try {
        found = found_.get();
    } catch (const runtime::Error& error) {
        no_gpu_reason_ = error.what();
        return usable;
    }
    no_gpu_reason_ = !found.reason.empty() ? found.reason : "the only Vulkan driver is a CPU driver";
    for (const runtime::DeviceInfo& info : found.devices) {
        const bool listed = ids_.empty() || std::find(ids_.begin(), ids_.end(), info.number) != ids_.end();
        if (!listed)
            continue;
        if (!info.unusable.empty())
            progress.info(fmt::format("{} {} is skipped: it {}", info.address(), info.name, info.unusable));
        else if (info.type != runtime::DeviceType::cpu)
            usable.push_back(info);
    }
    if (!ids_.empty())
        progress.info(fmt::format("--device-ids {}: {} can be used here", ids_text(ids_),
                                  usable.empty() ? "none of these GPUs"
                                                 : counted(usable.size(), "of these GPUs", "of these GPUs")));
    return usable;
}

PreparedPopulation DeviceChoice::prepare_fastest(const TrainingJob& job, ProgressSink& progress) {
    const std::vector<runtime::DeviceInfo> gpus = candidates(progress);
    named_.clear();
    const auto settled = [&](PreparedPopulation prepared) {
        std::erase_if(opened_, [&](const auto& device) {
            return std::ranges::none_of(named_,
                                        [&](const auto& info) { return info.address() == device.first; });
        });
        why_ = prepared.use.why;
        progress.info(fmt::format("--device auto: {}", prepared.use.why));
        return prepared;
    };
    if (gpus.empty())
        return settled(
            on_cpu(job, fmt::format("{}, because no GPU can be used here: {}", cpu_name(), no_gpu_reason_)));

    const auto began = std::chrono::steady_clock::now();
    std::vector<MeasuredDevice> measured;
    measured.push_back({nullptr, cpu_name(), "", cpu_speed(job)});
    if (const double seconds = job.steps * static_cast<double>(job.members.size()) / measured.front().speed;
        seconds < seconds_worth_measuring)
        return settled(on_cpu(
            job,
            fmt::format(
                "{}, because the whole run takes about {} there and comparing it with {} would take longer",
                cpu_name(), format_duration(seconds), gpus.front().name)));
    std::vector<OpenedDevice> opened;
    for (const runtime::DeviceInfo& info : gpus) {
        try {
            const OpenedDevice device = open(job, info);
            auto population = population_on(device, job);
            const double speed =
                mlp::measure_speed(*population, job.batch_size, measured_seconds).network_steps_per_second;
            std::string name = population->device();
            measured.push_back({std::move(population), std::move(name), driver_of(info), speed});
            opened.push_back(device);
        } catch (const runtime::Error& error) {
            progress.warning(fmt::format("{} {} cannot be used: {}. Run rekindle doctor to find the cause.",
                                         info.address(), info.name, error.what()));
        } catch (const Error& error) { // a refusal
            progress.info(fmt::format("{} {} is skipped: {}", info.address(), info.name, error.message()));
        }
    }
    std::string why;
    for (const MeasuredDevice& device : measured)
        why += (why.empty() ? "" : ", ") + speed_text(device.name, device.speed);
    const auto best =
        std::max_element(measured.begin(), measured.end(),
                         [](const MeasuredDevice& a, const MeasuredDevice& b) { return a.speed < b.speed; });
    why = fmt::format("{} per network-step → ", why);
    if (best == measured.begin())
        return settled(on_cpu(job, why + best->name));
    named_ = {opened[static_cast<std::size_t>(best - measured.begin()) - 1].info};
    PreparedPopulation prepared{std::move(best->population), {best->name, best->driver, ""}};
    if (ids_.size() > 1 && opened.size() > 1 && job.members.size() > 1) {
        named_.clear();
        for (const OpenedDevice& device : opened)
            named_.push_back(device.info);
        measured.clear(); // their memory is needed
        prepared.population = nullptr;
        prepared.population = spread_over(opened, job);
        prepared.use.device = prepared.population->device();
    }
    prepared.use.why = fmt::format(
        "{}{} (measured in {})", why, prepared.use.device,
        format_duration(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()));
    return settled(std::move(prepared));
}

} // namespace rekindle::trainer
