#include "vocabulary.h"

#include <algorithm>
#include <array>

namespace rekindle::doctor {
namespace {

constexpr std::array<Placeholder, 60> placeholders{{
    {"bytes", "bytes that the process holds"},
    {"card", "directory of the card in /sys/class/drm, card1"},
    {"command", "name of the process"},
    {"compute_capability", "of an NVIDIA card, 12.0"},
    {"container_tool", "docker or podman"},
    {"cuda_index", "address of the CUDA index that is chosen"},
    {"cuda_python", "Python for which that wheel exists"},
    {"cuda_torch", "version of torch there"},
    {"cxx_package", "package with the C++ standard headers"},
    {"egl_package", "package with libEGL"},
    {"environment", "folder of the Python environment that is judged"},
    {"extension", "file name of the extension"},
    {"firmware_package", "package with the GPU's firmware"},
    {"gfx", "target of the card"},
    {"gid", "number of the group that owns the device"},
    {"group", "name of that group"},
    {"gtt_pages", "half of the host's memory in pages"},
    {"home", "home folder of the user"},
    {"value", "value of the variable that is to be set"},
    {"image", "documented container image with code for the card"},
    {"install", "the distribution's install command"},
    {"kfd_gid", "number of the group of /dev/kfd"},
    {"library", "library that is missing"},
    {"devices", "number of GPUs to keep"},
    {"kernel", "release of the running kernel"},
    {"kernel_package", "package with the distribution's newest kernel"},
    {"nvidia_install", "the distribution's way to NVIDIA's driver"},
    {"limit", "number of open files"},
    {"native_index", "address of the index with packages for each device"},
    {"native_python", "Python that makes the environment"},
    {"native_torch", "what to install there, torch[device-gfx1010]"},
    {"opencl_package", "package with an OpenCL driver"},
    {"option", "option of a kernel module, amdgpu.mtype_local"},
    {"option_file", "file in which it stands"},
    {"other_gpu", "number of a GPU that the finding does not name"},
    {"override", "HSA_OVERRIDE_GFX_VERSION that is safe for the card"},
    {"override_gfx", "target that it names"},
    {"override_index", "address of the index for that target"},
    {"override_value", "value of the override that is set"},
    {"override_variable", "the override that is set"},
    {"override_python", "Python for which that wheel exists"},
    {"override_torch", "version of torch there"},
    {"package", "Python package"},
    {"pid", "process that holds memory"},
    {"python", "Python that trains"},
    {"render_gid", "number of the group of the render node"},
    {"rocrand_package", "package with rocRAND's headers"},
    {"shm_size", "size for /dev/shm"},
    {"sm", "target of an NVIDIA card"},
    {"torch", "version of torch that is installed"},
    {"update_bootloader", "the distribution's way to write the boot menu anew"},
    {"user", "name of the user"},
    {"variable", "one environment variable"},
    {"variables", "environment variables, separated by blanks"},
    {"venv", "folder of the new environment"},
    {"visible", "UUIDs of the GPUs to keep"},
    {"vulkan_package", "package with Mesa's Vulkan driver"},
    {"wheel_index", "address of the ROCm index that is chosen"},
    {"wheel_python", "Python for which that wheel exists"},
    {"wheel_torch", "version of torch there"},
}};

} // namespace

std::span<const Placeholder> remedy_placeholders() noexcept {
    return placeholders;
}

bool is_remedy_placeholder(std::string_view name) noexcept {
    return std::ranges::any_of(placeholders, [&](const Placeholder& known) { return known.name == name; });
}

} // namespace rekindle::doctor
