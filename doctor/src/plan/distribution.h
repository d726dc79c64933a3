#pragma once
/// What packages are called, by distribution.

#include <map>
#include <string>
#include <string_view>

namespace rekindle::doctor {

/// Placeholders of packages for `os_id` ("ubuntu", "fedora", …): "install", "firmware_package",
/// "vulkan_package", "egl_package", "cxx_package", "opencl_package", "kernel_package", "nvidia_install".
/// Empty for a distribution that is not known. `os_version` ("24.04") matters to Ubuntu's kernels.
std::map<std::string, std::string> package_placeholders(std::string_view os_id, std::string_view os_version);

} // namespace rekindle::doctor
