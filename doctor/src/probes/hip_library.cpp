#include "probes/hip_library.h"

#include <filesystem>

namespace rekindle::doctor {

namespace {

std::string hip_name(const SharedLibrary& library, int status) {
    const auto name = library.find<const char*(int)>("hipGetErrorName");
    const char* text = name != nullptr ? name(status) : nullptr;
    return text != nullptr ? text : "";
}

} // namespace

DriverLibrary open_hip(const ProbeRequest& request, const ProbeReport& report) {
    const std::vector<std::string> names{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                         "libamdhip64.so"};
    report.at("loading libamdhip64");
    return {SharedLibrary::open(names, request.all("folder")), report, hip_name};
}

SharedLibrary open_next_to(const SharedLibrary& hip, const ProbeRequest& request,
                           const std::vector<std::string>& names) {
    std::vector<std::string> folders = request.all("folder");
    if (const std::filesystem::path path = hip.path(); path.has_parent_path())
        folders.insert(folders.begin(), path.parent_path().string());
    return SharedLibrary::open(names, folders);
}

ProbeResult result_of_device(const ProbeRequest& request, const ProbeReport& report,
                             const DriverLibrary& hip) {
    const std::string ordinal = fmt::format("hip:{}", request.device());
    const std::string address = request.first("address");
    ProbeResult result = report.result(address.empty() ? ordinal : address);
    result.values["ordinal"] = ordinal;
    result.values["hip_library"] = hip.file().path();
    return result;
}

void report_absence(const ProbeReport& report, ProbeResult result, const SharedLibrary& library) {
    if (library.broken())
        report.failed(std::move(result), library.problem());
    else
        report.skipped(std::move(result), library.problem());
}

} // namespace rekindle::doctor
