#include "plan/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rekindle::doctor {

namespace {

using Packages = std::map<std::string, std::string>;

bool one_of(std::string_view id, std::initializer_list<std::string_view> ids) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

const Packages& apt() {
    static const Packages packages{
        {"install", "sudo apt install"},
        {"vulkan_package", "mesa-vulkan-drivers"},
        {"egl_package", "libegl1"},
        {"cxx_package", "libstdc++-12-dev"},
        {"opencl_package", "mesa-opencl-icd"},
        {"rocrand_package", "rocrand-dev"},
        {"firmware_package", "linux-firmware"},
        {"update_bootloader", "sudo update-grub"},
    };
    return packages;
}

const Packages& dnf() {
    static const Packages packages{
        {"install", "sudo dnf install"},
        {"vulkan_package", "mesa-vulkan-drivers"},
        {"egl_package", "libglvnd-egl"},
        {"cxx_package", "libstdc++-devel"},
        {"opencl_package", "mesa-libOpenCL"},
        {"rocrand_package", "rocrand-devel"},
        {"firmware_package", "amd-gpu-firmware"},
        {"kernel_package", "kernel"},
        {"update_bootloader", "sudo grub2-mkconfig -o /boot/grub2/grub.cfg"},
    };
    return packages;
}

const Packages& pacman() {
    static const Packages packages{
        {"install", "sudo pacman -S"},
        {"vulkan_package", "vulkan-radeon"},
        {"egl_package", "libglvnd"},
        {"cxx_package", "gcc"},
        {"opencl_package", "opencl-mesa"},
        {"rocrand_package", "rocrand"},
        {"firmware_package", "linux-firmware"},
        {"kernel_package", "linux"},
        {"nvidia_install", "sudo pacman -S nvidia"},
        {"update_bootloader", "sudo grub-mkconfig -o /boot/grub/grub.cfg"},
    };
    return packages;
}

const Packages& apk() {
    static const Packages packages{
        {"install", "sudo apk add"},
        {"vulkan_package", "mesa-vulkan-ati"},
        {"cxx_package", "g++"},
        {"firmware_package", "linux-firmware-amdgpu"},
    };
    return packages;
}

const Packages& zypper() {
    static const Packages packages{
        {"install", "sudo zypper install"},
        {"vulkan_package", "libvulkan_radeon"},
        {"egl_package", "libglvnd"},
        {"cxx_package", "libstdc++-devel"},
        {"opencl_package", "Mesa-libRusticlOpenCL"},
        {"firmware_package", "kernel-firmware-amdgpu"},
        {"kernel_package", "kernel-default"},
        {"update_bootloader", "sudo grub2-mkconfig -o /boot/grub2/grub.cfg"},
    };
    return packages;
}

} // namespace

std::map<std::string, std::string> package_placeholders(std::string_view os_id, std::string_view os_version) {
    if (os_id == "pop") {
        Packages packages = apt();
        packages["nvidia_install"] = "sudo apt install system76-driver-nvidia";
        return packages;
    }
    if (one_of(os_id, {"ubuntu", "linuxmint", "zorin", "elementary", "neon", "tuxedo"})) {
        Packages packages = apt();
        packages["nvidia_install"] = "sudo ubuntu-drivers install";
        if (os_id == "ubuntu" && !os_version.empty())
            packages["kernel_package"] = "linux-generic-hwe-" + std::string(os_version);
        return packages;
    }
    if (os_id == "debian") {
        Packages packages = apt();
        packages["nvidia_install"] = "sudo apt install nvidia-driver";
        packages["kernel_package"] = "linux-image-amd64";
        packages["firmware_package"] = "firmware-amd-graphics";
        return packages;
    }
    if (one_of(os_id, {"fedora", "nobara"})) {
        Packages packages = dnf();
        packages["nvidia_install"] = "sudo dnf install akmod-nvidia";
        return packages;
    }
    if (one_of(os_id, {"rhel", "rocky", "almalinux", "centos", "ol", "amzn"}))
        return dnf();
    if (one_of(os_id, {"arch", "manjaro", "endeavouros", "cachyos", "garuda"}))
        return pacman();
    if (os_id == "alpine")
        return apk();
    if (os_id.starts_with("opensuse") || one_of(os_id, {"sles", "suse"}))
        return zypper();
    return {};
}

bool is_of_distribution(std::string_view placeholder) {
    return one_of(placeholder, {"install", "firmware_package", "vulkan_package", "egl_package", "cxx_package",
                                "opencl_package", "rocrand_package", "kernel_package", "nvidia_install",
                                "update_bootloader"});
}

std::string package_names(std::string_view placeholder) {
    const std::array managers{std::pair{"apk", &apk()}, std::pair{"apt", &apt()}, std::pair{"dnf", &dnf()},
                              std::pair{"pacman", &pacman()}, std::pair{"zypper", &zypper()}};
    std::string names;
    if (!placeholder.ends_with("_package"))
        return names;
    for (const auto& [manager, packages] : managers)
        if (const auto found = packages->find(std::string(placeholder)); found != packages->end())
            names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", found->second, manager);
    return names;
}

} // namespace rekindle::doctor
