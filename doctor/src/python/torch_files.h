#pragma once
/// What an installed PyTorch is and which GPU code it and the packages around it contain, determined from
/// their files.

#include "python/find_places.h"
#include "python/packages.h"

#include <rekindle/doctor/facts.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The assignments in torch/version.py, which is text of a fixed form and is not executed. A variable that
/// is None or missing is "".
struct TorchVersionFile {
    std::string version, hip, cuda, xpu;
};
TorchVersionFile parse_torch_version(std::string_view text);

/// Fills in torch, torch_kind, torch_hip, torch_cuda and rocm_style. Returns torch's folder; empty when
/// there is none.
std::filesystem::path read_torch(const HostTree& tree, const PythonPlace& place,
                                 const InstalledPackages& installed, PythonEnvironment& environment);

/// Targets of torch's own libraries, of the ROCm libraries that it uses (its own, TheRock's packages, or
/// /opt/rocm) and of extensions. After `deadline` nothing more is opened; what was not read says so.
std::vector<LibraryTargets> read_targets(const HostTree& tree, const PythonPlace& place,
                                         const PythonEnvironment& environment,
                                         const std::filesystem::path& torch,
                                         std::chrono::steady_clock::time_point deadline);

} // namespace rekindle::doctor
