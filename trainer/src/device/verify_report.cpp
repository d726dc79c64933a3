#include <rekindle/base/version.h>
#include <rekindle/trainer/verify.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <unistd.h>

namespace rekindle::trainer {

namespace {

using Json = nlohmann::ordered_json;

/// As Vulkan packs it: 3 bits of variant, 7 of major, 10 of minor, 12 of patch.
std::string vulkan_version(std::uint32_t version) {
    return fmt::format("{}.{}.{}", version >> 22 & 0x7f, version >> 12 & 0x3ff, version & 0xfff);
}

/// The names of this host and user, which must not be in a report.
std::vector<std::string> local_names() {
    std::vector<std::string> names;
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) == 0)
        names.emplace_back(host.data());
    for (const char* variable : {"USER", "LOGNAME", "HOSTNAME"})
        if (const char* value = std::getenv(variable); value != nullptr)
            names.emplace_back(value);
    return names;
}

Json capabilities_json(const runtime::Capabilities& can) {
    std::uint64_t device_local = 0;
    for (const runtime::Heap& heap : can.heaps)
        if (heap.device_local)
            device_local = std::max(device_local, heap.bytes);
    Json features = Json::array();
    for (std::uint32_t bit = 1; bit != 0; bit <<= 1)
        if ((can.features.bits() & bit) != 0)
            features.push_back(kernels::name(static_cast<kernels::Feature>(bit)));
    return {{"features", std::move(features)},
            {"subgroup_sizes", {can.minimum_subgroup, can.maximum_subgroup}},
            {"shared_bytes", can.shared_bytes},
            {"device_local_bytes", device_local},
            {"maximum_allocation_bytes", can.maximum_allocation_bytes},
            {"transfer_queue", can.transfer_queue},
            {"resizable_bar", can.resizable_bar}};
}

Json row_json(const mlp::VerifyRow& row, std::span<const std::string> names) {
    Json json{{"part", row.part}, {"name", row.name}, {"outcome", mlp::name(row.outcome)}};
    if (row.bound)
        json["bound"] = *row.bound;
    if (row.value)
        json["value"] = *row.value; // NaN becomes null
    if (!row.unit.empty())
        json["unit"] = row.unit;
    if (!row.detail.empty())
        json["detail"] = without_names(row.detail, names);
    return json;
}

Json device_json(const VerifiedDevice& device, std::span<const std::string> names) {
    const runtime::DeviceInfo& info = device.info;
    Json rows = Json::array();
    for (const mlp::VerifyRow& row : device.rows)
        rows.push_back(row_json(row, names));
    return {{"name", info.name},
            {"type", runtime::name(info.type)},
            {"vendor_id", fmt::format("0x{:04x}", info.vendor_id)},
            {"device_id", fmt::format("0x{:04x}", info.device_id)},
            {"driver", info.driver_name},
            {"driver_info", without_names(info.driver_info, names)},
            {"driver_id", info.driver_id},
            {"driver_version", info.driver_version},
            {"vulkan", vulkan_version(info.api_version)},
            {"conformance", fmt::format("{}.{}.{}.{}", info.conformance[0], info.conformance[1],
                                        info.conformance[2], info.conformance[3])},
            {"can", capabilities_json(info.can)},
            {"passed", device.passed()},
            {"seconds", device.seconds},
            {"rows", std::move(rows)}};
}

bool begins_path(std::string_view text, std::size_t at) {
    const auto part_of_word = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == ')';
    };
    return text[at] == '/' && (at == 0 || !part_of_word(text[at - 1])) && at + 1 < text.size() &&
           part_of_word(text[at + 1]);
}

} // namespace

std::string without_names(std::string_view text, std::span<const std::string> names) {
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        if (!begins_path(text, i)) {
            result += text[i++];
            continue;
        }
        result += "<path>";
        while (i < text.size() && std::string_view(" \t\n\"'(),;").find(text[i]) == std::string_view::npos)
            ++i;
    }
    for (const std::string& name : names) {
        if (name.size() < 2)
            continue;
        for (std::size_t at = 0; (at = result.find(name, at)) != std::string::npos; at += 6)
            result.replace(at, name.size(), "<name>");
    }
    return result;
}

nlohmann::ordered_json verify_report(std::span<const VerifiedDevice> devices) {
    const std::vector<std::string> names = local_names();
    Json list = Json::array();
    for (const VerifiedDevice& device : devices)
        list.push_back(device_json(device, names));
    return {{"report", "rekindle verify"},
            {"version", 1},
            {"rekindle", version_number()},
            {"devices", std::move(list)}};
}

} // namespace rekindle::trainer
