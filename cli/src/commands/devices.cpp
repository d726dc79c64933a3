#include "commands.h"

#include <rekindle/base/text.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/mlp/engine.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <thread>

namespace rekindle::cli {

namespace {

constexpr std::string_view gpu_note =
    "GPUs come with the Vulkan engine, which this version does not have: networks train on the processor";

/// The processor's name as the kernel tells it; "" where it tells none.
std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name"))
            return std::string(trim(std::string_view(line).substr(line.find(':') + 1)));
    return "";
}

} // namespace

ExitStatus run_devices(Context& context) {
    const std::string name = processor_name();
    const std::size_t usable = available_processors();
    const std::size_t present = std::max<std::size_t>(std::thread::hardware_concurrency(), usable);
    const std::string_view instructions = mlp::instruction_set();
    if (context.line.text("format") == "json" || context.messages.json) {
        const nlohmann::ordered_json json{{"devices",
                                           {{{"device", "cpu"},
                                             {"name", name},
                                             {"processors", present},
                                             {"usable_processors", usable},
                                             {"instruction_set", instructions}}}},
                                          {"note", gpu_note}};
        context.result(json);
        return ExitStatus::success;
    }
    context.output.line(
        fmt::format("cpu  {}", name.empty() ? "a processor that the system does not name" : name));
    context.output.line(
        fmt::format("     {} of {} processors usable; the engine chose {}", usable, present, instructions));
    context.output.line("");
    context.output.line(std::string(gpu_note) + ".");
    return ExitStatus::success;
}

} // namespace rekindle::cli
