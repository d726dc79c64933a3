#include "probes/probe_child.h"

#include <rekindle/base/text.h>
#include <rekindle/runtime/device.h>
#include <rekindle/runtime/self_test.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace rekindle::doctor {

namespace {

/// The device that vulkan-devices named: the request's `same_name`-th device called `name`, in the loader's
/// order.
const runtime::DeviceInfo* find_device(const std::vector<runtime::DeviceInfo>& devices,
                                       const ProbeRequest& request) {
    int before = request.number("same_name");
    for (const runtime::DeviceInfo& device : devices)
        if (device.name == request.first("name") && before-- == 0)
            return &device;
    return nullptr;
}

std::string memory_text(const runtime::Capabilities& can) {
    std::uint64_t bytes = 0;
    for (const runtime::Heap& heap : can.heaps)
        if (heap.device_local)
            bytes = std::max(bytes, heap.bytes);
    return format_bytes(bytes);
}

std::string matrix_text(const runtime::Capabilities& can) {
    for (const runtime::MatrixShape& shape : runtime::matrix_shapes)
        if (can.features.contains(shape.feature))
            return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
    return can.cooperative_matrices.empty() ? "no" : "other shapes";
}

/// The values that `rekindle devices` shows for a device in addition to its name.
void describe(const runtime::DeviceInfo& device, ProbeResult& result) {
    const runtime::Capabilities& can = device.can;
    result.values = {
        {"name", device.name},
        {"uuid", device.uuid_text()},
        {"type", std::string(runtime::name(device.type))},
        {"memory", memory_text(can)},
        {"driver", device.driver_name},
        {"driver_info", device.driver_info},
        {"subgroup", can.minimum_subgroup == can.maximum_subgroup
                         ? std::to_string(can.default_subgroup)
                         : fmt::format("{} to {}", can.minimum_subgroup, can.maximum_subgroup)},
        {"shared_memory", format_bytes(can.shared_bytes)},
        {"float16", can.features.contains(kernels::Feature::float16_arithmetic) ? "yes" : "no"},
        {"matrix_units", matrix_text(can)},
    };
}

/// Fills in the number that `--device` takes; false if REKINDLE_VISIBLE_DEVICES hides the device.
bool add_address(const runtime::DeviceInfo& device, const char* visible, ProbeResult& result) {
    if (visible != nullptr)
        ::setenv("REKINDLE_VISIBLE_DEVICES", visible, 1);
    const std::vector<runtime::DeviceInfo> left = runtime::list_devices();
    const auto found = std::ranges::find(left, device.uuid, &runtime::DeviceInfo::uuid);
    if (found == left.end())
        return false;
    result.values["address"] = found->address();
    return true;
}

std::string rows_text(const runtime::SelfTestResult& test, runtime::SelfTestRow::Outcome outcome,
                      bool detail) {
    std::string text;
    for (const runtime::SelfTestRow& row : test.rows)
        if (row.outcome == outcome)
            text += (text.empty() ? "" : "; ") + row.name + (detail ? ": " + row.detail : "");
    return text;
}

} // namespace

void probe_vulkan_self_test(const ProbeRequest& request, const ProbeReport& report) {
    using Outcome = runtime::SelfTestRow::Outcome;
    ProbeResult result = report.result(request.first("address"));
    const char* visible = std::getenv("REKINDLE_VISIBLE_DEVICES");
    const std::string kept = visible == nullptr ? "" : visible;
    ::unsetenv("REKINDLE_VISIBLE_DEVICES");
    report.at("vkEnumeratePhysicalDevices");
    std::string reason;
    const std::vector<runtime::DeviceInfo> devices = runtime::list_devices(&reason);
    const runtime::DeviceInfo* device = find_device(devices, request);
    if (device == nullptr)
        return report.failed(result, fmt::format("{} was not found again: {}", request.first("name"),
                                                 reason.empty() ? "the loader's list has changed" : reason));
    describe(*device, result);
    if (!device->unusable.empty())
        return report.skipped(result, "rekindle train cannot use it: it " + device->unusable);
    if (!add_address(*device, visible == nullptr ? nullptr : kept.c_str(), result))
        return report.skipped(result, "REKINDLE_VISIBLE_DEVICES hides it");
    report.at("vkCreateDevice");
    runtime::DeviceOptions options;
    options.self_test = false;
    options.cache_folder = "/dev/null"; // no folder can be created below it: the doctor leaves nothing behind
    const auto opened = runtime::Device::open(*device, options);
    report.at("known-answer self-test");
    const runtime::SelfTestResult test = runtime::run_self_test(*opened);
    result.values["passed"] =
        std::to_string(std::ranges::count(test.rows, Outcome::passed, &runtime::SelfTestRow::outcome));
    result.values["not_offered"] = rows_text(test, Outcome::unsupported, false);
    result.values["wrong"] = rows_text(test, Outcome::failed, false);
    result.values["usable"] = test.usable() ? "yes" : "no";
    const std::string wrong = rows_text(test, Outcome::failed, true);
    if (wrong.empty())
        return report.passed(std::move(result));
    report.failed(std::move(result),
                  fmt::format("wrong answers: {}; {} not used", wrong,
                              test.usable() ? "what depends on them is" : "the device is"));
}

} // namespace rekindle::doctor
