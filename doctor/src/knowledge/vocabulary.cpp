#include "vocabulary.h"

#include <algorithm>
#include <array>

namespace rekindle::doctor {
namespace {

struct Placeholder {
    std::string_view name;
    std::string_view meaning; ///< what the plan replaces it with
};

constexpr std::array<Placeholder, 66> placeholders{{
    {"apptainer", "apptainer or singularity"},
    {"bytes", "bytes that the process holds"},
    {"card", "folder of the GPU in /sys/class/drm, card1"},
    {"command", "name of the process"},
    {"compute_capability", "compute capability of an NVIDIA GPU, 12.0"},
    {"container_tool", "docker or podman"},
    {"cuda_index", "URL of the chosen CUDA index"},
    {"cuda_packages", "torch on that index, with the torchvision and torchaudio that the environment has"},
    {"cuda_python", "Python version that the wheel exists for"},
    {"cuda_torch", "version of torch on that index"},
    {"cxx_package", "package with the C++ standard headers"},
    {"egl_package", "package with libEGL"},
    {"environment", "folder of the Python environment that is examined"},
    {"extension", "file name of the extension"},
    {"firmware_package", "package with the GPU's firmware"},
    {"gfx", "target of the GPU"},
    {"gid", "id of the group that owns the device"},
    {"group", "name of that group"},
    {"gtt_pages", "half of the host's memory in pages"},
    {"home", "home folder of the user"},
    {"value", "value to set the variable to"},
    {"image", "documented container image with code for the GPU"},
    {"install", "the distribution's install command"},
    {"kfd_gid", "id of the group that owns /dev/kfd"},
    {"library", "missing library"},
    {"devices", "number of GPUs to keep"},
    {"kernel", "release of the running kernel"},
    {"kernel_package", "package with the distribution's newest kernel"},
    {"nvidia_install", "the distribution's command to install NVIDIA's driver"},
    {"limit", "number of open files"},
    {"native_index", "URL of the index with packages for each device"},
    {"native_packages", "what to install there: torch[device-gfx1010], and torchvision and torchaudio if the "
                        "environment has them"},
    {"native_checked", "when that index was last checked"},
    {"native_tested", "a sentence: whether AMD tests its wheels for this target and system"},
    {"native_python", "Python that creates the environment"},
    {"opencl_package", "package with an OpenCL driver"},
    {"option", "option of a kernel module, amdgpu.mtype_local"},
    {"option_file", "file that sets it"},
    {"other_gpu", "number of a GPU that the finding does not name"},
    {"override", "HSA_OVERRIDE_GFX_VERSION value that is safe for the GPU"},
    {"override_gfx", "target that the override names"},
    {"override_index", "URL of the index for that target"},
    {"override_value", "current value of the override"},
    {"override_variable", "the override variable that is set"},
    {"override_packages", "torch on that index, with the environment's companions"},
    {"override_python", "Python version that the wheel exists for"},
    {"override_torch", "version of torch on that index"},
    {"package", "Python package"},
    {"pid", "process that holds memory"},
    {"python", "Python that trains"},
    {"render_gid", "id of the group that owns the render node"},
    {"rocrand_package", "package with rocRAND's headers"},
    {"shm_size", "size for /dev/shm"},
    {"sm", "target of an NVIDIA GPU"},
    {"torch", "installed version of torch"},
    {"update_bootloader", "the distribution's command to update the boot menu"},
    {"user", "name of the user"},
    {"variable", "one environment variable"},
    {"variables", "environment variables, separated by spaces"},
    {"venv", "folder of the new environment"},
    {"visible", "UUIDs of the GPUs to keep"},
    {"vulkan_package", "package with Mesa's Vulkan driver"},
    {"wheel_index", "URL of the chosen ROCm index"},
    {"wheel_packages", "torch on that index, with the torchvision and torchaudio that the environment has"},
    {"wheel_python", "Python version that the wheel exists for"},
    {"wheel_torch", "version of torch on that index"},
}};

} // namespace

bool is_remedy_placeholder(std::string_view name) noexcept {
    return std::ranges::any_of(placeholders, [&](const Placeholder& known) { return known.name == name; });
}

} // namespace rekindle::doctor
