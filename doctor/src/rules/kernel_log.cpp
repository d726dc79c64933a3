#include "rules/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace rekindle::doctor {

namespace {

/// The last line that contains any of `texts`; nullptr if there is none. The most recent event counts.
template <std::size_t n>
const std::string* last_line_with(const HostView& view, const std::array<std::string_view, n>& texts) {
    if (!view.facts.kernel_log.lines)
        return nullptr;
    const auto& lines = *view.facts.kernel_log.lines;
    const auto found = std::find_if(lines.rbegin(), lines.rend(), [&](const std::string& line) {
        return std::any_of(texts.begin(), texts.end(),
                           [&](std::string_view text) { return line.find(text) != std::string::npos; });
    });
    return found == lines.rend() ? nullptr : &*found;
}

/// The GPU whose PCI address is in the line; otherwise the AMD GPU if there is only one.
void add_device(Finding& finding, const HostView& view, const std::string& line) {
    for (const Gpu& gpu : view.facts.gpus)
        if (line.find(gpu.address.substr(0, gpu.address.rfind('.'))) != std::string::npos)
            finding.devices.push_back(gpu.address); // NVIDIA's driver omits the function
    if (finding.devices.empty() && view.amd.size() == 1)
        finding.devices.push_back(view.amd.front()->address);
}

Finding from_line(const HostView& view, std::string cause, Severity severity, std::string statement,
                  const std::string& line) {
    Finding finding = make_finding(std::move(cause), severity, std::move(statement));
    add_evidence(finding, "kernel log", view.facts.kernel_log.lines.source, line);
    add_device(finding, view, line);
    return finding;
}

/// The number in "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."; 0 in other lines.
int xid_in(std::string_view line) {
    const std::size_t begin = line.find("NVRM: Xid");
    const std::size_t address_end = begin == std::string_view::npos ? begin : line.find("): ", begin);
    if (address_end == std::string_view::npos)
        return 0;
    const std::string_view number = line.substr(address_end + 3);
    int xid = 0;
    std::from_chars(number.data(), number.data() + number.size(), xid);
    return xid;
}

struct XidMeaning {
    std::string_view cause;
    std::string_view statement;
    std::vector<int> numbers;
};

/// docs.nvidia.com, Xid errors. Those of a single program (13, 31, 32, 43, 45, 68) are omitted: the GPU keeps
/// working. So are those that report how the driver recovers from another one.
const std::vector<XidMeaning>& xid_meanings() {
    static const std::vector<XidMeaning> meanings{
        {"gpu-off-the-bus", "The driver lost the GPU on PCI Express since this host was booted.", {79}},
        {"gsp-firmware-timeout",
         "The GPU's system processor stopped responding since this host was booted.",
         {119, 120}},
        {"nvlink-fault", "An NVLink reported errors since this host was booted.", {74}},
        {"gpu-hardware-fault",
         "The GPU reported a hardware error since this host was booted.",
         {38, 44, 48, 56, 57, 61, 62, 63, 64, 69, 92, 94, 95, 110, 123, 140, 143}}};
    return meanings;
}

} // namespace

Findings scheduler_firmware_hang(const HostView& view) {
    static constexpr std::array<std::string_view, 4> texts{
        "MES failed to respond to msg", "MES failed to response msg", "MES might be in unrecoverable state",
        "failed to remove hardware queue from MES"};
    const std::string* line = last_line_with(view, texts);
    if (!line)
        return {};
    Finding finding = from_line(
        view, "mes-firmware-cwsr-hang", Severity::problem,
        "The GPU's scheduler firmware stopped responding; compute on it hangs until it is reset.", *line);
    for (const Gpu* gpu : view.amd)
        if (gpu->mes_firmware)
            add_evidence(finding, fmt::format("MES firmware of {}", gpu->address), gpu->mes_firmware,
                         fmt::format("{:#x}", static_cast<unsigned>(*gpu->mes_firmware)));
    if (view.facts.drivers.firmware_package)
        add_evidence(finding, "linux-firmware", view.facts.drivers.firmware_package,
                     *view.facts.drivers.firmware_package);
    return {finding};
}

Findings firmware_missing(const HostView& view) {
    static constexpr std::array<std::string_view, 3> texts{
        "failed to load ucode", "Fatal error during GPU init", "Direct firmware load for amdgpu/"};
    const std::string* line = last_line_with(view, texts);
    const bool listed =
        std::any_of(view.amd.begin(), view.amd.end(), [](const Gpu* gpu) { return gpu->kfd_node.known(); });
    if (!line || listed || !amd_matters(view))
        return {};
    return {from_line(view, "firmware-missing", Severity::problem,
                      "The driver could not start the GPU: a firmware file is missing or too old.", *line)};
}

Findings gpu_was_reset(const HostView& view) {
    static constexpr std::array<std::string_view, 3> failed{"GPU reset(", "GPU reset begin",
                                                            "VRAM is lost due to GPU"};
    const std::string* line = last_line_with(view, failed);
    if (!line || !scheduler_firmware_hang(view).empty())
        return {};
    return {from_line(
        view, "gpu-hang-reset", Severity::warning,
        "The driver had to reset a GPU since this host was booted; whatever was running on it was lost.",
        *line)};
}

Findings nvidia_reported_error(const HostView& view) {
    if (!view.facts.kernel_log.lines)
        return {};
    Findings findings;
    for (const XidMeaning& meaning : xid_meanings()) {
        const auto& lines = *view.facts.kernel_log.lines;
        const auto line = std::find_if(lines.rbegin(), lines.rend(), [&](const std::string& one) {
            return std::find(meaning.numbers.begin(), meaning.numbers.end(), xid_in(one)) !=
                   meaning.numbers.end();
        });
        if (line != lines.rend())
            findings.push_back(from_line(view, std::string(meaning.cause), Severity::warning,
                                         std::string(meaning.statement), *line));
    }
    return findings;
}

} // namespace rekindle::doctor
