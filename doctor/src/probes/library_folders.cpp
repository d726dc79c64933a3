#include "probes/library_folders.h"

#include <algorithm>
#include <filesystem>

namespace rekindle::doctor {

namespace fs = std::filesystem;

namespace {

/// The site-packages folder that contains PyTorch: its dist-info is in it.
fs::path folder_of_torch(const PythonEnvironment& python) {
    const auto torch = std::ranges::find(python.packages, "torch", &PythonPackage::name);
    return torch == python.packages.end() ? fs::path() : fs::path(torch->source).parent_path();
}

/// "_rocm_sdk_core" and "_rocm_sdk_libraries…" in wheels that get their ROCm from packages.
std::vector<std::string> folders_of_sdk(const fs::path& site_packages) {
    std::vector<std::string> folders;
    std::error_code unreadable;
    for (const fs::directory_entry& entry : fs::directory_iterator(site_packages, unreadable))
        if (entry.path().filename().string().starts_with("_rocm_sdk_"))
            folders.push_back((entry.path() / "lib").string());
    std::ranges::sort(folders);
    return folders;
}

} // namespace

const PythonEnvironment* python_that_trains(const Facts& facts, const std::string& interpreter) {
    const auto found = std::ranges::find_if(facts.pythons, [&](const PythonEnvironment& python) {
        return interpreter.empty() ? python.active
                                   : python.interpreter == interpreter || python.path == interpreter;
    });
    if (found != facts.pythons.end())
        return &*found;
    return interpreter.empty() ? nullptr : python_that_trains(facts, "");
}

std::vector<std::string> hip_folders(const Facts& facts, const ProbeOptions& options) {
    std::vector<std::string> folders;
    if (!options.library_folder.empty())
        folders.push_back(options.library_folder);
    const PythonEnvironment* python = python_that_trains(facts, options.python);
    if (python != nullptr && python->torch_kind.is("rocm"))
        if (const fs::path site_packages = folder_of_torch(*python); !site_packages.empty()) {
            folders.push_back((site_packages / "torch/lib").string());
            std::ranges::move(folders_of_sdk(site_packages), std::back_inserter(folders));
        }
    for (const RocmInstallation& installation : facts.rocm.installations)
        folders.push_back(installation.path + "/lib");
    return folders;
}

} // namespace rekindle::doctor
