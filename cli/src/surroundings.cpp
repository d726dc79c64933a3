#include <rekindle/cli/surroundings.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unistd.h>

namespace rekindle::cli {

namespace {

std::string base_folder(const Environment& environment, const char* variable, std::string_view below_home) {
    std::string value = environment(variable);
    if (value.starts_with('/'))
        return value;
    const std::string home = environment("HOME");
    return home.empty() ? "" : home + "/" + std::string(below_home);
}

std::string below(const std::string& folder, std::string_view name) {
    return folder.empty() ? "" : folder + "/" + std::string(name);
}

bool configures_other_software(std::string_view name) {
    constexpr std::array prefixes{"HIP_",    "HSA_",  "ROCR_", "PYTORCH_",   "TORCH_",  "AMD_",
                                  "MIOPEN_", "NCCL_", "RCCL_", "HIPBLASLT_", "ROCBLAS_"};
    constexpr std::array names{"CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_ORDER",
                               "GPU_DEVICE_ORDINAL"};
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const char* p) { return name.starts_with(p); }) ||
           std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace

UserFolders user_folders(const Environment& environment) {
    UserFolders folders{.cache = below(base_folder(environment, "XDG_CACHE_HOME", ".cache"), "rekindle"),
                        .config = below(base_folder(environment, "XDG_CONFIG_HOME", ".config"), "rekindle")};
    if (const std::string cache = environment("REKINDLE_CACHE_DIR"); !cache.empty())
        folders.cache = cache;
    return folders;
}

UserFolders shown_folders(const UserFolders& folders, const Environment& environment) {
    const std::string home = environment("HOME");
    const auto shown = [&](const std::string& path) {
        return !home.empty() && home != "/" && path.starts_with(home + "/") ? "~" + path.substr(home.size())
                                                                            : path;
    };
    return {.cache = shown(folders.cache), .config = shown(folders.config)};
}

std::string ineffective_variables(std::span<const std::string> variables) {
    std::vector<std::string> found;
    for (const std::string& variable : variables)
        if (configures_other_software(std::string_view(variable).substr(0, variable.find('='))))
            found.push_back(variable);
    if (found.empty())
        return "";
    std::sort(found.begin(), found.end());
    return fmt::format("without effect here, because Rekindle uses neither ROCm, CUDA nor PyTorch: {}",
                       fmt::join(found, ", "));
}

std::vector<std::string> process_variables() {
    std::vector<std::string> variables;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
        variables.emplace_back(*entry);
    return variables;
}

} // namespace rekindle::cli
