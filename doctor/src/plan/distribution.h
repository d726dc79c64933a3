#pragma once
/// Package names by distribution.

#include <map>
#include <string>
#include <string_view>

namespace rekindle::doctor {

/// Placeholders for packages for `os_id` ("ubuntu", "fedora", …): "install", "firmware_package",
/// "vulkan_package", "egl_package", "cxx_package", "opencl_package", "rocrand_package", "kernel_package",
/// "nvidia_install", "update_bootloader". Empty for an unknown distribution; a package that the
/// distribution does not have is missing. `os_version` ("24.04") matters for Ubuntu's kernels.
std::map<std::string, std::string> package_placeholders(std::string_view os_id, std::string_view os_version);

/// Whether a placeholder is filled by package_placeholders().
bool is_of_distribution(std::string_view placeholder);

/// The text for an unknown distribution: "libegl1 (apt), libglvnd-egl (dnf), …"; "" for what is not a
/// package.
std::string package_names(std::string_view placeholder);

} // namespace rekindle::doctor
