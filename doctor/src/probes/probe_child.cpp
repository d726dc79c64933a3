#include "probes/probe_child.h"

#include "probes/child_process.h"
#include "probes/probe_lines.h"

#include <rekindle/foundation/error.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace rekindle::doctor {

namespace {

using ProbeFunction = void (*)(const ProbeRequest&, const ProbeReport&);

constexpr std::array<std::pair<std::string_view, ProbeFunction>, 10> probes{{
    {"hip-init", probe_hip_init},
    {"blas-handle", probe_blas_handle},
    {"hiprtc-vector-add", probe_hiprtc_vector_add},
    {"rccl", probe_rccl},
    {"rccl-two-gpus", probe_rccl},
    {"cuda-driver", probe_cuda_driver},
    {"cuda-vector-add", probe_cuda_vector_add},
    {"nvml-readings", probe_nvml_readings},
    {"vulkan-devices", probe_vulkan_devices},
    {"vulkan-self-test", probe_vulkan_self_test},
}};

ProbeRequest request_of(int argc, char** argv) {
    ProbeRequest request;
    request.name = argc > 2 ? argv[2] : "";
    for (int i = 3; i < argc; ++i) {
        const std::string_view argument = argv[i];
        const std::size_t equals = argument.find('=');
        if (equals != std::string_view::npos)
            request.parameters.emplace(argument.substr(0, equals), argument.substr(equals + 1));
    }
    return request;
}

/// A user who runs a probe by hand has no descriptor 3 and gets the lines on standard output.
int results_or_output() {
    return ::fcntl(result_descriptor, F_GETFD) >= 0 ? result_descriptor : STDOUT_FILENO;
}

ExitStatus run(const ProbeRequest& request) {
    for (const auto& [name, function] : probes)
        if (name == request.name) {
            const ProbeReport report(results_or_output(), request.name);
            try {
                function(request, report);
            } catch (const std::exception& error) {
                report.failed(report.result(), error.what());
            }
            return ExitStatus::success;
        }
    return ExitStatus::usage;
}

} // namespace

bool run_probe_child(int argc, char** argv) {
    if (argc < 2 || argv[1] != probe_option)
        return false;
    ::_exit(static_cast<int>(run(request_of(argc, argv))));
}

std::string ProbeRequest::first(const std::string& key) const {
    const auto found = parameters.lower_bound(key);
    return found != parameters.end() && found->first == key ? found->second : std::string();
}

std::vector<std::string> ProbeRequest::all(const std::string& key) const {
    std::vector<std::string> values;
    const auto [begin, end] = parameters.equal_range(key);
    for (auto parameter = begin; parameter != end; ++parameter)
        values.push_back(parameter->second);
    return values;
}

int ProbeRequest::number(const std::string& key) const {
    const std::string text = first(key);
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

void ProbeReport::at(std::string_view step) const {
    write(line_of_step(step));
}

ProbeResult ProbeReport::result(std::string device) const {
    ProbeResult result;
    result.id = id_;
    result.device = std::move(device);
    return result;
}

void ProbeReport::passed(ProbeResult result) const {
    result.status = ProbeStatus::passed;
    write(line_of_result(result));
}

void ProbeReport::failed(ProbeResult result, std::string reason, std::string code) const {
    result.status = ProbeStatus::failed;
    result.reason = std::move(reason);
    result.code = std::move(code);
    write(line_of_result(result));
}

void ProbeReport::skipped(ProbeResult result, std::string reason, std::string code) const {
    result.status = ProbeStatus::skipped;
    result.reason = std::move(reason);
    result.code = std::move(code);
    write(line_of_result(result));
}

void ProbeReport::passed_with_devices(ProbeResult& host, int count,
                                      const std::function<ProbeResult(int)>& describe) const {
    host.values["devices"] = std::to_string(count);
    std::vector<ProbeResult> devices;
    devices.reserve(static_cast<std::size_t>(std::clamp(count, 0, 64))); // a driver may say anything
    for (int device = 0; device < count; ++device)
        devices.push_back(describe(device));
    passed(host);
    for (ProbeResult& device : devices)
        passed(std::move(device));
}

void ProbeReport::write(std::string line) const {
    line += '\n';
    // One write: lines stay whole even when the process dies right after it. A missing reader is not an
    // error.
    [[maybe_unused]] const ssize_t written = ::write(descriptor_, line.data(), line.size());
}

} // namespace rekindle::doctor
