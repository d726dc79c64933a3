#pragma once
/// The platform that a plan's commands must fit: system, GPU vendors, container, distribution.

#include "log/host_situation.h"
#include "rules/host_view.h"

#include <rekindle/doctor/finding.h>

#include <optional>
#include <string>
#include <vector>

namespace rekindle::doctor {

struct Platform {
    std::string system; ///< "linux", "wsl", "windows"; "" when unknown
    std::optional<bool> in_container;
    std::string container;            ///< "docker", "podman", …; "" when unknown or none
    std::string distribution;         ///< os_id
    std::vector<std::string> vendors; ///< of the GPUs to train on; empty when unknown
    std::string rocm;                 ///< where torch's ROCm comes from: "bundled", "packages", "system"
    std::string environment;          ///< kind of Python environment: "conda"
    std::optional<bool> vulkan;       ///< whether a GPU to train on has a Vulkan driver
    Situation situation;              ///< for evaluating conditions
};
Platform platform_of(const HostView& view);
/// The same for one finding: if it names devices, the vendors are theirs.
Platform ground_for(Platform platform, const HostView& view, const Finding& finding);

/// Whether the commands are for such a host.
bool applies(const Applicability& applicability, const Platform& platform);

/// Where its commands are typed if that is not where the training runs: "on the host, outside the
/// container"; "" otherwise.
std::string place_of(const Applicability& applicability, const Platform& platform);

} // namespace rekindle::doctor
