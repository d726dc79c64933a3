#include "memory.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/network.h>

#include <fmt/format.h>

#include <fstream>
#include <string>

namespace rekindle::trainer {

namespace {

constexpr std::uint64_t engine_bytes_per_parameter = 48, kept_bytes_per_parameter = 16;
constexpr std::uint64_t fixed_bytes = 4096;   ///< descriptions, names, small arrays
constexpr std::uint64_t bytes_per_epoch = 48; ///< MemberEpoch

} // namespace

std::uint64_t host_bytes_per_network(const mlp::ModelDescription& model, std::int64_t epochs,
                                     TrainingDevice device) {
    const std::uint64_t each =
        kept_bytes_per_parameter + (device == TrainingDevice::cpu ? engine_bytes_per_parameter : 0);
    return fixed_bytes + each * parameter_count(model) + bytes_per_epoch * static_cast<std::uint64_t>(epochs);
}

std::optional<std::uint64_t> available_memory() {
    std::ifstream file("/proc/meminfo");
    std::string name, unit;
    for (std::uint64_t kilobytes = 0; file >> name >> kilobytes;) {
        if (name == "MemAvailable:")
            return kilobytes * 1024;
        std::getline(file, unit);
    }
    return std::nullopt;
}

void require_memory(const mlp::ModelDescription& model, std::size_t networks, std::int64_t epochs,
                    TrainingDevice device, std::optional<std::uint64_t> available) {
    const std::uint64_t each = host_bytes_per_network(model, epochs, device);
    if (networks <= 1 || !available || each * networks <= *available)
        return;
    const std::uint64_t fitting = *available / each;
    throw usage_error(fmt::format("{} of {} need about {} of memory, but only {} is free",
                                  counted(static_cast<std::int64_t>(networks), "network"),
                                  counted(static_cast<std::int64_t>(parameter_count(model)), "parameter"),
                                  format_bytes(each * networks), format_bytes(*available)))
        .at("--population")
        .hint(fmt::format("About {} fit here{}.", with_thousands(static_cast<std::int64_t>(fitting)),
                          device == TrainingDevice::cpu
                              ? "; --device gpu needs a quarter of this memory, and GPU memory"
                              : ""));
}

} // namespace rekindle::trainer
