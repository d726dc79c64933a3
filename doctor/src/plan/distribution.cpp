#include "plan/distribution.h"

namespace rekindle::doctor {

std::map<std::string, std::string> package_placeholders(std::string_view os_id, std::string_view os_version) {
    std::map<std::string, std::string> apt{
        {"install", "sudo apt install"},           {"firmware_package", "linux-firmware"},
        {"vulkan_package", "mesa-vulkan-drivers"}, {"egl_package", "libegl1"},
        {"cxx_package", "libstdc++-12-dev"},       {"opencl_package", "mesa-opencl-icd"},
    };
    if (os_id == "ubuntu" || os_id == "linuxmint" || os_id == "pop") {
        apt["nvidia_install"] = "sudo ubuntu-drivers install";
        if (os_id == "ubuntu" && !os_version.empty())
            apt["kernel_package"] = "linux-generic-hwe-" + std::string(os_version);
        return apt;
    }
    if (os_id == "debian") {
        apt["nvidia_install"] = "sudo apt install nvidia-driver";
        apt["kernel_package"] = "linux-image-amd64";
        apt["firmware_package"] = "firmware-amd-graphics";
        return apt;
    }
    if (os_id == "fedora" || os_id == "rhel" || os_id == "rocky" || os_id == "almalinux" || os_id == "centos")
        return {
            {"install", "sudo dnf install"},
            {"firmware_package", "amd-gpu-firmware"},
            {"vulkan_package", "mesa-vulkan-drivers"},
            {"egl_package", "libglvnd-egl"},
            {"cxx_package", "libstdc++-devel"},
            {"opencl_package", "mesa-libOpenCL"},
            {"kernel_package", "kernel"},
            {"nvidia_install", "sudo dnf install akmod-nvidia"},
        };
    if (os_id == "arch" || os_id == "manjaro" || os_id == "endeavouros")
        return {
            {"install", "sudo pacman -S"},
            {"firmware_package", "linux-firmware"},
            {"vulkan_package", "vulkan-radeon"},
            {"egl_package", "libglvnd"},
            {"cxx_package", "gcc"},
            {"opencl_package", "opencl-mesa"},
            {"kernel_package", "linux"},
            {"nvidia_install", "sudo pacman -S nvidia"},
        };
    return {};
}

} // namespace rekindle::doctor
