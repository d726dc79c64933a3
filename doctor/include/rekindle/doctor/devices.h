#pragma once
/// The frameworks that can train on each device of a host.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>
#include <rekindle/doctor/probe.h>

#include <string>
#include <vector>

namespace rekindle::doctor {

/// The frameworks that can train on a device today.
struct DeviceStatus {
    std::string address;
    std::string name;   ///< for people: the model where it is known, else the PCI id
    std::string target; ///< "gfx1100", "sm_86", ""
    std::string memory; ///< "20.0 GiB, 19.4 GiB free"
    std::string rocm;   ///< "yes", "no: …", "not tried: …"
    std::string cuda;
    std::string vulkan;
};

/// The table of devices, for `rekindle devices` and the terminal output. The CPU is the last row.
std::vector<DeviceStatus> device_table(const Facts& facts, const std::vector<ProbeResult>& probes,
                                       const Knowledge& knowledge);

} // namespace rekindle::doctor
