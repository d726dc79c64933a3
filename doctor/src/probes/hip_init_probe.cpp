#include "probes/hip_library.h"

#include <array>
#include <cctype>

namespace rekindle::doctor {

namespace {

/// "gfx90a:sramecc+:xnack-" from hipDeviceProp_t, whose layout differs between ROCm 5 and 6: it is the only
/// text in it that begins this way. The buffer is several times as large as either.
std::string gfx_of(const DriverLibrary& hip, int device) {
    constexpr const char* rocm_6 = "hipGetDevicePropertiesR0600";
    constexpr const char* rocm_5 = "hipGetDeviceProperties";
    const char* function = hip.file().find<int(void*, int)>(rocm_6) != nullptr ? rocm_6 : rocm_5;
    std::vector<char> properties(16384);
    hip.call(function, static_cast<void*>(properties.data()), device);
    const std::string_view bytes(properties.data(), properties.size());
    for (std::size_t at = bytes.find("gfx"); at != std::string_view::npos; at = bytes.find("gfx", at + 1))
        if (at + 3 < bytes.size() && std::isdigit(static_cast<unsigned char>(bytes[at + 3])) != 0)
            return properties.data() + at;
    return {};
}

ProbeResult describe_hip_device(const DriverLibrary& hip, int device, const ProbeReport& report) {
    const std::string ordinal = fmt::format("hip:{}", device);
    std::array<char, 64> address{};
    std::array<char, 256> name{};
    std::size_t memory = 0;
    hip.call("hipDeviceGetPCIBusId", address.data(), static_cast<int>(address.size()), device);
    hip.call("hipDeviceGetName", name.data(), static_cast<int>(name.size()), device);
    hip.call("hipDeviceTotalMem", &memory, device);
    ProbeResult result = report.result(address[0] != '\0' ? address.data() : ordinal);
    result.values = {{"ordinal", ordinal},
                     {"name", name.data()},
                     {"memory_total", std::to_string(memory)},
                     {"gfx", gfx_of(hip, device)}};
    return result;
}

void describe_hip(const DriverLibrary& hip, const ProbeRequest& request, const ProbeReport& report,
                  ProbeResult& host) {
    const bool expects_none = request.first("gpus") == "0";
    const auto no_gpu = [&](int status) {
        if (status == 0 ||
            !expects_none) // HIP 5 returns hipErrorInvalidDevice where later versions return hipErrorNoDevice
            return false;
        report.skipped(host, "no AMD GPU on this host", hip.text_of(status));
        return true;
    };
    if (const int status = hip.status_of("hipInit", 0U); no_gpu(status))
        return;
    else if (status != 0)
        throw CallFailed("hipInit", hip.text_of(status));
    int version = 0;
    hip.call("hipRuntimeGetVersion", &version);
    host.values["runtime_version"] = std::to_string(version);
    int count = 0;
    if (const int status = hip.status_of("hipGetDeviceCount", &count); no_gpu(status))
        return;
    else if (status != 0)
        throw CallFailed("hipGetDeviceCount", hip.text_of(status));
    report.passed_with_devices(host, count,
                               [&](int device) { return describe_hip_device(hip, device, report); });
}

} // namespace

void probe_hip_init(const ProbeRequest& request, const ProbeReport& report) {
    ProbeResult host = report.result();
    const DriverLibrary hip = open_hip(request, report);
    if (!hip.file())
        return report_absence(report, host, hip.file());
    host.values["library"] = hip.file().path();
    try {
        describe_hip(hip, request, report, host);
    } catch (const CallFailed& failure) {
        report.failed(host, failure.what(), failure.code());
    }
}

} // namespace rekindle::doctor
