#include "conditions/keys.h"

#include "facts/versions.h"

#include <algorithm>
#include <array>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

constexpr Ask ask_gfx{"gfx: the target of the GPU that fails (rocminfo prints it as \"Name: gfx…\")",
                      "gfx: the target of the GPU that fails (hipInfo prints it as gcnArchName)",
                      "gpu: its compute capability (nvidia-smi --query-gpu=name,compute_cap --format=csv)"};
constexpr Ask ask_gpu{"gpu: the name of every GPU of the host, integrated ones too"};
constexpr Ask ask_torch{"torch: the full version (python3 -c 'import torch; print(torch.__version__)')"};
constexpr Ask ask_rocm{"rocm: the ROCm version, and whether it comes with the wheel or is in /opt/rocm",
                       "rocm: the ROCm version, and whether it comes with the wheel or from the HIP SDK"};
constexpr Ask ask_os{"os: distribution and version, or Windows, or WSL"};
constexpr Ask ask_container{
    "container: none, docker, podman, singularity …, and the command that started it"};
constexpr Ask ask_driver{"driver: versions of the kernel driver and of its user-space libraries",
                         "driver: its version"};
constexpr Ask ask_memory{"the full out-of-memory message with its numbers"};
constexpr Ask ask_log{"the full log, from the start of the program"};

// In the order in which a person should be asked.
constexpr std::array keys{
    KeyInfo{"gfx", KeyKind::words, ask_gfx},
    KeyInfo{"gpu", KeyKind::pattern, ask_gpu},
    KeyInfo{"vendor", KeyKind::words, ask_gpu},
    KeyInfo{"integrated", KeyKind::flag, ask_gpu},
    KeyInfo{"devices", KeyKind::number, ask_gpu},
    KeyInfo{"torch", KeyKind::version, ask_torch},
    KeyInfo{"torch_kind", KeyKind::words, ask_torch},
    KeyInfo{"torch_involved", KeyKind::flag, {"other: which program printed it, and whether it uses torch"}},
    KeyInfo{"torch_source", KeyKind::words, ask_torch},
    KeyInfo{"torch_nightly", KeyKind::flag, ask_torch},
    KeyInfo{"wheel_contains_gfx",
            KeyKind::flag,
            {"torch and gfx: the full version of torch and the GPU's gfx target",
             "torch and gpu: the full version of torch and the GPU's name"}},
    KeyInfo{"rocm", KeyKind::version, ask_rocm},
    KeyInfo{"rocm_style", KeyKind::words, ask_rocm},
    KeyInfo{"override_native",
            KeyKind::flag,
            {"env: HSA_OVERRIDE_GFX_VERSION as the process sees it, and the GPU's name"}},
    KeyInfo{"gfx_shown_differs",
            KeyKind::flag,
            {"gpu and gfx: the GPU's name and the gfx target that rocminfo prints"}},
    KeyInfo{"shown_gfx", KeyKind::words, {"gfx: the target that rocminfo or torch prints"}},
    KeyInfo{"message_gfx", KeyKind::words, ask_log},
    KeyInfo{"message_gfx_integrated", KeyKind::flag, ask_log},
    KeyInfo{"message_gfx_is_device", KeyKind::flag, ask_gfx},
    KeyInfo{"os", KeyKind::pattern, ask_os},
    KeyInfo{"wsl", KeyKind::flag, ask_os},
    KeyInfo{"container", KeyKind::words, ask_container},
    KeyInfo{"rootless", KeyKind::flag, {"container: rootful or rootless"}},
    KeyInfo{"hypervisor", KeyKind::words, {"other: whether it is a virtual machine, and which one"}},
    KeyInfo{"kernel", KeyKind::version, {"kernel: uname -r"}},
    KeyInfo{"driver", KeyKind::version, ask_driver},
    KeyInfo{"driver_mismatch", KeyKind::flag, ask_driver},
    KeyInfo{"cuda",
            KeyKind::version,
            {"torch: the CUDA version of the wheel; driver: the CUDA version that nvidia-smi prints",
             "torch: the CUDA version of the wheel"}},
    KeyInfo{"compute_capability", KeyKind::version, ask_gpu},
    KeyInfo{"python", KeyKind::version, {"python: version, and whether it is a venv, conda or the system's"}},
    KeyInfo{"glibc", KeyKind::version, {"os: distribution and version (ldd --version prints the glibc)"}},
    KeyInfo{
        "group", KeyKind::words, {"other: the groups of the user (id -nG) and of /dev/kfd (ls -l /dev/kfd)"}},
    KeyInfo{"kfd", KeyKind::flag, {"other: whether /dev/kfd exists (ls -l /dev/kfd /dev/dri)"}},
    KeyInfo{"shm_mib", KeyKind::number, {"other: the size of /dev/shm (df -h /dev/shm)"}},
    KeyInfo{"open_files_limit", KeyKind::number, {"other: ulimit -n"}},
    KeyInfo{"space_in_path", KeyKind::flag, {"other: the path of the Python environment"}},
    KeyInfo{"vram_gib", KeyKind::number, {"gpu: its memory in GiB"}},
    KeyInfo{"kernel_vram_gib", KeyKind::number, ask_kernel_log},
    KeyInfo{"oom_kills", KeyKind::number, ask_kernel_log},
    KeyInfo{"vram_used_share",
            KeyKind::number,
            {"VRAM in use before the program starts: cat /sys/class/drm/card*/device/mem_info_vram_used",
             "VRAM in use before the program starts: nvidia-smi", "VRAM in use before the program starts"}},
    KeyInfo{"killed", KeyKind::pattern, {"dmesg | grep -i 'killed process'"}},
    KeyInfo{"soname", KeyKind::pattern, ask_log},
    KeyInfo{"soname_matches_rocm", KeyKind::flag, ask_rocm},
    KeyInfo{"oom.capacity_gib", KeyKind::number, ask_memory},
    KeyInfo{"oom.tried_gib", KeyKind::number, ask_memory},
    KeyInfo{"oom.tried_share", KeyKind::number, ask_memory},
    KeyInfo{"oom.free_share", KeyKind::number, ask_memory},
    KeyInfo{"oom.allocated_share", KeyKind::number, ask_memory},
    KeyInfo{"oom.reserved_unallocated_share", KeyKind::number, ask_memory},
    KeyInfo{"oom.other_process_share", KeyKind::number, ask_memory},
    KeyInfo{"oom.unaccounted_share", KeyKind::number, ask_memory},
    KeyInfo{"oom.capacity_of_vram_share", KeyKind::number, ask_kernel_log},
    KeyInfo{"other", KeyKind::pattern, {}},
    KeyInfo{"log", KeyKind::log, {}},
};

constexpr KeyInfo variable_key{"env.", KeyKind::variable, ask_variables};
constexpr KeyInfo package_key{
    "package.", KeyKind::version, {"other: versions of the Python packages (pip list)"}};

bool is_flag(std::string_view text) {
    return text == "true" || text == "false";
}

std::string mistake_in_value(const KeyInfo& info, const Condition& condition, const std::string& value) {
    const auto about = [&](std::string_view what) {
        return condition.key + ": " + std::string(what) + " \"" + value + "\"";
    };
    switch (info.kind) {
    case KeyKind::words:
        return value.empty() ? about("an empty value") : "";
    case KeyKind::flag:
        return is_flag(value) ? "" : about("not true or false:");
    case KeyKind::variable:
    case KeyKind::pattern:
    case KeyKind::log: {
        const RE2 expression(value, RE2::Quiet);
        return expression.ok() ? "" : about("not a pattern (" + expression.error() + "):");
    }
    case KeyKind::version:
        return version_in("1", value) ? "" : about("not a version range:");
    case KeyKind::number:
        return number_in(1, value) ? "" : about("not a number range:");
    }
    return "";
}

} // namespace

const KeyInfo* condition_key(std::string_view key) {
    if (key.starts_with(variable_key.name) && key.size() > variable_key.name.size())
        return &variable_key;
    if (key.starts_with(package_key.name) && key.size() > package_key.name.size())
        return &package_key;
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&](const KeyInfo& info) { return info.name == key; });
    return found == keys.end() ? nullptr : &*found;
}

std::string mistake_in(const Condition& condition) {
    if (condition.key.empty())
        return "";
    if (condition.key == "any" || condition.key == "all" || condition.key == "not") {
        if (condition.parts.empty())
            return condition.key + " is empty";
        for (const Condition& part : condition.parts)
            if (std::string mistake = mistake_in(part); !mistake.empty())
                return mistake;
        return "";
    }
    const KeyInfo* info = condition_key(condition.key);
    if (info == nullptr)
        return "unknown condition \"" + condition.key + "\"";
    if (condition.values.empty())
        return condition.key + " has no value";
    for (const std::string& value : condition.values)
        if (std::string mistake = mistake_in_value(*info, condition, value); !mistake.empty())
            return mistake;
    return "";
}

} // namespace rekindle::doctor
