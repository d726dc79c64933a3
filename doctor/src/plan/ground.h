#pragma once
/// What a plan's commands must fit: the system, the GPUs' vendors, the container, the distribution.

#include "log/situation.h"
#include "rules/host_view.h"

#include <rekindle/doctor/finding.h>

#include <optional>
#include <string>
#include <vector>

namespace rekindle::doctor {

struct Ground {
    std::string system; ///< "linux", "wsl", "windows"; "" when not known
    std::optional<bool> in_container;
    std::string container;            ///< "docker", "podman", …; "" when not known or none
    std::string distribution;         ///< os_id
    std::vector<std::string> vendors; ///< of the GPUs to train on; empty when not known
    std::string rocm;                 ///< where torch's ROCm comes from: "bundled", "packages", "system"
    std::string environment;          ///< kind of the Python environment: "conda"
    std::optional<bool> vulkan;       ///< whether a GPU to train on has a Vulkan driver
    Situation situation;              ///< for conditions
};
Ground ground_of(const HostView& view);
/// The same for one finding: where it names devices, the vendors are theirs.
Ground ground_for(Ground ground, const HostView& view, const Finding& finding);

/// Whether the commands are made for such a host.
bool applies(const Applicability& applicability, const Ground& ground);

/// Where its commands are typed when that is not where the training runs: "on the host, outside the
/// container"; "" otherwise.
std::string place_of(const Applicability& applicability, const Ground& ground);

} // namespace rekindle::doctor
