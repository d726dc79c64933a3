#include <rekindle/foundation/error.h>
#include <rekindle/trainer/device_name.h>
#include <rekindle/trainer/verify.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace rekindle::trainer {

namespace {

std::vector<runtime::DeviceInfo> accepted_devices() {
    std::string reason;
    std::vector<runtime::DeviceInfo> devices = runtime::list_devices(&reason);
    std::string refused;
    for (const runtime::DeviceInfo& device : devices)
        if (!device.unusable.empty())
            refused += fmt::format("{}{} {} {}", refused.empty() ? "" : "; ", device.address(), device.name,
                                   device.unusable);
    std::erase_if(devices, [](const runtime::DeviceInfo& device) { return !device.unusable.empty(); });
    if (devices.empty())
        throw usage_error(refused.empty()
                              ? "there is no Vulkan device" + (reason.empty() ? "" : ": " + reason)
                              : "no Vulkan device can be used: " + refused)
            .hint("rekindle doctor shows what is missing and what to do.");
    return devices;
}

mlp::VerifyRow not_opened(const std::exception& error) {
    mlp::VerifyRow row;
    row.part = "device";
    row.name = "opened";
    row.outcome = mlp::VerifyRow::Outcome::failed;
    row.detail = error.what();
    return row;
}

} // namespace

std::vector<runtime::DeviceInfo> devices_to_verify(std::string_view written) {
    if (!written.empty()) {
        const runtime::DeviceSelector name = parse_device_name(written);
        if (name.kind == runtime::DeviceSelector::Kind::cpu)
            throw usage_error(
                "the CPU is what the devices are compared with, so it cannot be verified itself")
                .at("--device")
                .expected("gpu, gpu:N or the UUID of a device");
        if (name.kind != runtime::DeviceSelector::Kind::automatic)
            return {find_device(name)};
    }
    std::vector<runtime::DeviceInfo> devices = accepted_devices();
    const auto is_cpu = [](const runtime::DeviceInfo& device) {
        return device.type == runtime::DeviceType::cpu;
    };
    if (!std::all_of(devices.begin(), devices.end(), is_cpu))
        std::erase_if(devices, is_cpu);
    return devices;
}

VerifiedDevice verify_device(const runtime::DeviceInfo& info, const VerifySettings& settings) {
    VerifiedDevice verified{.info = info, .rows = {}, .seconds = 0};
    if (settings.began)
        settings.began(info);
    const auto start = std::chrono::steady_clock::now();
    runtime::DeviceOptions options;
    options.log = [&](rekindle::LogLevel level, std::string_view text) {
        if (level >= rekindle::LogLevel::warning && settings.warning)
            settings.warning(text);
    };
    // The check itself runs the self-test, in full.
    options.self_test = false;
    try {
        const auto device = runtime::Device::open(info, std::move(options));
        verified.rows =
            mlp::verify_device(device, {.speed_seconds = settings.speed_seconds, .finished = settings.row});
    } catch (const runtime::Error& error) {
        verified.rows.push_back(not_opened(error));
        if (settings.row)
            settings.row(verified.rows.back());
    }
    verified.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return verified;
}

} // namespace rekindle::trainer
