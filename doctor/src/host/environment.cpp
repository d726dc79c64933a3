#include "collectors.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unistd.h>

namespace rekindle::doctor {

namespace {

constexpr std::array prefixes{"HSA",
                              "HIP",
                              "ROCR_",
                              "ROCM_",
                              "ROC_",
                              "ROCBLAS_",
                              "ROCSOLVER_",
                              "ROCSPARSE_",
                              "ROCFFT_",
                              "AMD_",
                              "AMDGCN_",
                              "GPU_",
                              "CUDA",
                              "CUBLAS",
                              "CUDNN",
                              "NVIDIA_",
                              "VK_",
                              "MESA_",
                              "RADV_",
                              "ACO_",
                              "NCCL_",
                              "RCCL_",
                              "MIOPEN_",
                              "TENSILE_",
                              "PYTORCH_",
                              "TORCH",
                              "TRITON_",
                              "DISABLE_ADDMM",
                              "XDG_DATA_",
                              "XDG_CONFIG_",
                              "LIBGL_",
                              "DRI_PRIME",
                              "UV_AMD",
                              "UV_TORCH",
                              "BUILD_PYTORCH",
                              "USE_ROCM",
                              "AITER_",
                              "FLASH_ATTENTION_",
                              "BNB_",
                              "OMP_NUM_",
                              "MASTER_",
                              "WORLD_SIZE",
                              "LOCAL_RANK",
                              "RANK",
                              "SINGULARITY_",
                              "APPTAINER_",
                              "LD_LIBRARY_PATH",
                              "LD_PRELOAD",
                              "PYTHONPATH",
                              "PYTHONHOME",
                              "VIRTUAL_ENV",
                              "CONDA_PREFIX",
                              "CONDA_DEFAULT_ENV",
                              "WSL_",
                              "KUBERNETES_SERVICE_HOST",
                              "OCL_ICD_",
                              "XLA_",
                              "NODEVICE_SELECT"};
constexpr std::array secrets{"TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL"};

bool steers(const std::string& name) {
    const auto begins = [&](const char* prefix) { return name.starts_with(prefix); };
    const auto contains = [&](const char* word) { return name.find(word) != std::string::npos; };
    return name == "container" || (std::any_of(prefixes.begin(), prefixes.end(), begins) &&
                                   std::none_of(secrets.begin(), secrets.end(), contains));
}

/// "NAME=value" separated by NUL.
Variables parse_environ(std::string_view text) {
    Variables variables;
    for (const std::string_view entry : split(text, '\0')) {
        const std::size_t equals = entry.find('=');
        if (equals != std::string_view::npos && equals > 0)
            variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
    return variables;
}

Variables own_variables() {
    Variables variables;
    for (char** entry = environ; entry && *entry; ++entry)
        variables.merge(parse_environ(*entry));
    return variables;
}

} // namespace

std::string own_process_folder(HostFiles& files) {
    if (files.live())
        return fmt::format("/proc/{}", ::getpid());
    // A link is the live procfs of another root: it would lead to this process, which is not part of that
    // host's recording.
    if (files.link("/proc/self").known() || !files.exists("/proc/self"))
        return "";
    return "/proc/self";
}

Fact<Variables> read_variables(HostFiles& files, std::int64_t pid) {
    if (pid == 0 && files.live())
        return {own_variables(), "this process"};
    const std::string folder = pid != 0 ? fmt::format("/proc/{}", pid) : own_process_folder(files);
    if (folder.empty())
        return Fact<Variables>::failed("not recorded", "");
    return derive<Variables>(files.read(folder + "/environ"),
                             [](const std::string& text) { return std::optional(parse_environ(text)); });
}

ProcessEnvironment steering_variables(const Fact<Variables>& all) {
    ProcessEnvironment environment;
    environment.source = all.source;
    environment.variables = all;
    if (environment.variables.value)
        std::erase_if(*environment.variables.value,
                      [](const auto& variable) { return !steers(variable.first); });
    return environment;
}

} // namespace rekindle::doctor
