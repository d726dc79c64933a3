#include "../doctor/requests.h"
#include "../doctor/screen.h"
#include "../doctor/vulkan_devices.h"
#include "commands.h"

#include <rekindle/base/text.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/cli/text_layout.h>
#include <rekindle/doctor/report.h>
#include <rekindle/mlp/engine.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <thread>

namespace rekindle::cli {

namespace {

constexpr std::string_view gpu_note =
    "rekindle train runs on the CPU, or on a GPU given by its address: --device gpu:0; --device auto "
    "measures which is fastest for the network at hand. The ROCm and CUDA lines are about other software";

struct Cpus {
    std::size_t usable = available_cpus();
    std::size_t present = std::max<std::size_t>(std::thread::hardware_concurrency(), usable);
};

nlohmann::ordered_json json_of(const std::vector<doctor::DeviceStatus>& devices) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const doctor::DeviceStatus& device : devices) {
        nlohmann::ordered_json entry{{"device", device.address}, {"name", device.name}};
        if (device.address == "cpu") {
            const Cpus cpus;
            entry["processors"] = cpus.present;
            entry["usable_processors"] = cpus.usable;
            entry["instruction_set"] = mlp::instruction_set();
        } else {
            entry.update({{"target", device.target},
                          {"memory", device.memory},
                          {"rocm", device.rocm},
                          {"cuda", device.cuda},
                          {"vulkan", device.vulkan}});
        }
        list.push_back(std::move(entry));
    }
    return list;
}

} // namespace

ExitStatus run_devices(Context& context) {
    doctor::Facts facts = read_host(context.line);
    const std::vector<doctor::ProbeResult> probes =
        doctor::run_probes(facts, probe_options(context.line, facts));
    doctor::add_probed_facts(facts, probes);
    const std::vector<doctor::DeviceStatus> devices =
        doctor::device_table(facts, probes, doctor::embedded_knowledge());
    const std::vector<VulkanDevice> gpus = vulkan_devices(probes);
    if (context.line.text("format") == "json" || context.messages.json) {
        context.result(
            {{"devices", json_of(devices)}, {"vulkan_devices", json_of(gpus)}, {"note", gpu_note}});
        return ExitStatus::success;
    }
    const Cpus cpus;
    const std::size_t width = context.output.traits().width;
    context.output.write(render_devices(devices, width));
    context.output.line(fmt::format("       {} of {} usable; the engine chose {}", cpus.usable,
                                    counted(static_cast<std::int64_t>(cpus.present), "CPU"),
                                    mlp::instruction_set()));
    if (!gpus.empty())
        context.output.write("\nVulkan devices of rekindle train\n" + render_vulkan_devices(gpus, width));
    if (devices.size() > 1 || !gpus.empty())
        context.output.write("\n" + indented(std::string(gpu_note) + ".", width, 0));
    return ExitStatus::success;
}

} // namespace rekindle::cli
