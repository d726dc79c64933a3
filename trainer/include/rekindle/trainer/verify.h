#pragma once
/// `rekindle verify`: checks that the devices of this machine compute correctly, writes reports to attach to
/// an issue, and generates the page from such reports.

#include <rekindle/mlp/verify.h>
#include <rekindle/runtime/device.h>

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::trainer {

/// One device and its results.
struct VerifiedDevice {
    runtime::DeviceInfo info;
    std::vector<mlp::VerifyRow> rows;
    double seconds = 0; ///< of the whole check

    bool passed() const { return mlp::passed(rows); }
};

/// `written`: "" for every accepted device, but CPU drivers (lavapipe) only when there is nothing else; else
/// what parse_device_name() takes. Throws Error (usage) for "cpu", which the others are compared with, and
/// when there is no such device; its hint says what is missing.
std::vector<runtime::DeviceInfo> devices_to_verify(std::string_view written);

struct VerifySettings {
    double speed_seconds = 0.3; ///< of each speed; 0: none
    std::function<void(const runtime::DeviceInfo&)> began;
    std::function<void(const mlp::VerifyRow&)> row;
    std::function<void(std::string_view)> warning; ///< warnings of the runtime
};
/// A device that cannot be opened has one failed row.
VerifiedDevice verify_device(const runtime::DeviceInfo& info, const VerifySettings& settings);

/// Version 1 of the report: program and version, and for each device its kind, driver, versions, limits and
/// rows. It consists of named fields, none of which holds a host name, user, UUID or serial number; paths and
/// the names of the machine and the user are removed from the rows' details.
nlohmann::ordered_json verify_report(std::span<const VerifiedDevice> devices);

/// The text without data that identifies a machine: paths and the given names.
std::string without_names(std::string_view text, std::span<const std::string> names);

/// docs/hardware.md. `reports`: file name and JSON text of each report, in the order in which they are
/// listed; `audited`: the text of docs/isa.md, whose families are compiled but have not run. Throws Error
/// naming the file that is not a report of version 1.
struct HardwareReport {
    std::string file, text;
};
std::string hardware_page(std::span<const HardwareReport> reports, std::string_view audited);
/// The same for a docs folder: from hardware/*.json, sorted by name, and isa.md.
std::string hardware_page_of(const std::filesystem::path& docs);

} // namespace rekindle::trainer
