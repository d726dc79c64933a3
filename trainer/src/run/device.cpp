#include "device.h"

#include <rekindle/base/error.h>
#include <rekindle/base/text.h>
#include <rekindle/mlp/engine.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace rekindle::trainer {

namespace {

bool is_number(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

/// "gpu", "gpu:1", and the vendors' spellings "cuda:1", "hip:1", "cuda", "hip".
bool names_gpu(std::string_view device) {
    for (const std::string_view prefix : {"gpu", "cuda", "hip"}) {
        if (!device.starts_with(prefix))
            continue;
        const std::string_view rest = device.substr(prefix.size());
        return rest.empty() || (rest.front() == ':' && is_number(rest.substr(1)));
    }
    return false;
}

void check_device(const TrainConfig& config, ProgressSink& progress) {
    if (config.device == "cpu")
        return;
    if (config.device == "auto") {
        progress.info(fmt::format(
            "--device auto: the CPU ({}), because this version has no GPU engine; one small network is as "
            "fast on it",
            mlp::instruction_set()));
        return;
    }
    if (!names_gpu(config.device))
        throw usage_error(fmt::format("\"{}\" is not a device", config.device))
            .at("--device")
            .expected("auto, cpu, gpu or gpu:N");
    throw usage_error(
        fmt::format("{} is not possible yet: this version trains on the CPU only", config.device))
        .at("--device")
        .hint("Leave --device out or give --device cpu: one small network is as fast there.");
}

void check_device_ids(const TrainConfig& config, ProgressSink& progress) {
    if (config.device_ids.empty())
        return;
    const auto ids = split(config.device_ids, ',');
    if (!std::all_of(ids.begin(), ids.end(), [](std::string_view id) { return is_number(trim(id)); }))
        throw usage_error(fmt::format("\"{}\" is not a list of devices", config.device_ids))
            .at("--device-ids")
            .expected("numbers such as 0 or 0,1");
    progress.info(fmt::format(
        "--device-ids {}: {} on the CPU; the weights are the same as with any other list", config.device_ids,
        ids.size() > 1 ? "the network trains" : "there is no GPU engine yet, the network trains"));
}

} // namespace

void settle_device(const TrainConfig& config, ProgressSink& progress) {
    check_device(config, progress);
    check_device_ids(config, progress);
    if (config.distributed_strategy != "auto")
        progress.info(fmt::format(
            "--distributed-strategy {}: there is one process and one replica here, nothing is distributed",
            config.distributed_strategy));
    if (config.no_distributed)
        progress.info("--no-distributed: this is always so here");
    if (config.skip_gpu_cleanup)
        progress.info("--skip-gpu-cleanup: there is no clean-up step here that could hang");
    if (config.use_mixed_precision)
        progress.info("--use-mixed-precision: weights and activations are stored as bfloat16, the master "
                      "weights as float32");
}

} // namespace rekindle::trainer
