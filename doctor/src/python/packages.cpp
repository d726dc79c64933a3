#include "python/packages.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace rekindle::doctor {

namespace fs = std::filesystem;

namespace {

constexpr std::array matching_names = std::to_array<std::string_view>(
    {"accelerate",    "aiter",        "amdsmi",     "apex",         "bitsandbytes",
     "causal-conv1d", "deepspeed",    "flash-attn", "flash-attn-3", "intel-extension-for-pytorch",
     "keras",         "lightning",    "mamba-ssm",  "numpy",        "nvidia-ml-py",
     "peft",          "pip",          "pynvml",     "rocm",         "sageattention",
     "tinygrad",      "transformers", "trl",        "unsloth",      "uv",
     "vllm",          "xformers"});
constexpr std::array matching_beginnings =
    std::to_array<std::string_view>({"amd-", "cupy", "hip-python", "jax", "nvidia-", "onnxruntime", "pytorch",
                                     "rocm-sdk", "tensorflow", "torch", "triton"});

// Backends that do not register an entry point, or did not in older versions.
constexpr std::array known_private_backends = std::to_array<std::string_view>(
    {"pytorch-ocl", "torch-directml", "torch-npu", "torch-rvk", "torch-vulkan", "torchvulkan"});
// These use the entry point, but PyTorch's own dispatch keys.
constexpr std::array not_private_backends =
    std::to_array<std::string_view>({"habana-torch-plugin", "intel-extension-for-pytorch"});

struct DistributionName {
    std::string name, version;
};

/// From "numpy-1.26.4.dist-info", "numpy-1.26.4-py3.10.egg-info", "triton-3.1.0.egg-info".
DistributionName distribution_of(std::string_view folder) {
    const bool egg = folder.ends_with(".egg-info");
    if (!egg && !folder.ends_with(".dist-info"))
        return {};
    folder.remove_suffix(egg ? 9 : 10);
    const std::vector<std::string_view> parts = split(folder, '-');
    // Names with "-" in old egg-infos: the version is the first part that begins with a digit.
    std::size_t version = 1;
    while (version < parts.size() &&
           (parts[version].empty() || parts[version][0] < '0' || parts[version][0] > '9'))
        ++version;
    if (version >= parts.size())
        return {normalized_package_name(folder), ""};
    const auto name_size = static_cast<std::size_t>(parts[version].data() - folder.data()) - 1;
    return {normalized_package_name(folder.substr(0, name_size)), std::string(parts[version])};
}

bool registers_backend(std::string_view entry_points) {
    bool inside = false;
    for (std::string_view line : split(entry_points, '\n')) {
        line = trim(line);
        if (line.starts_with("["))
            inside = line == "[torch.backends]";
        else if (inside && line.find('=') != std::string_view::npos)
            return true;
    }
    return false;
}

/// The value of "url" in a direct_url.json, whose form is defined by PEP 610; "" when it has none.
std::string url_of(std::string_view direct_url) {
    std::size_t at = direct_url.find("\"url\"");
    at = at == std::string_view::npos ? at : direct_url.find('"', direct_url.find(':', at));
    const std::size_t end = at == std::string_view::npos ? at : direct_url.find('"', at + 1);
    return end == std::string_view::npos ? std::string()
                                         : std::string(direct_url.substr(at + 1, end - at - 1));
}

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

} // namespace

std::string normalized_package_name(std::string_view name) {
    std::string result;
    for (const char c : name) {
        const bool separator = c == '-' || c == '_' || c == '.';
        if (separator && result.ends_with('-'))
            continue;
        result += separator ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return result;
}

bool package_matters(std::string_view name) {
    return contains(matching_names, name) || contains(known_private_backends, name) ||
           std::ranges::any_of(matching_beginnings,
                               [&](std::string_view beginning) { return name.starts_with(beginning); });
}

InstalledPackages read_packages(const HostTree& tree, const std::vector<fs::path>& site_folders) {
    InstalledPackages result;
    std::map<std::string, fs::path> first_folder;
    for (const fs::path& site : site_folders)
        for (const std::string& entry : tree.list(site)) {
            const auto [name, version] = distribution_of(entry);
            if (name.empty())
                continue;
            const fs::path folder = site / entry;
            const auto [known, added] = first_folder.emplace(name, site);
            if (!added) {
                if (known->second == site && package_matters(name))
                    result.problems.push_back(
                        fmt::format("{}: {} is installed more than once", site.string(), name));
                continue;
            }
            const bool backend =
                contains(known_private_backends, name) ||
                (!contains(not_private_backends, name) &&
                 registers_backend(tree.read(folder / "entry_points.txt", 64 << 10).value_or("")));
            if (backend)
                result.private_backends.push_back(name);
            if (!backend && !package_matters(name))
                continue;
            PythonPackage package;
            package.name = name;
            package.version = version;
            package.source = folder.string();
            package.installer =
                std::string(trim(split(tree.read(folder / "INSTALLER", 256).value_or(""), '\n').front()));
            package.origin = url_of(tree.read(folder / "direct_url.json", 16 << 10).value_or(""));
            result.packages.push_back(std::move(package));
        }
    std::ranges::sort(result.packages, {}, &PythonPackage::name);
    std::ranges::sort(result.private_backends);
    return result;
}

std::string read_package_metadata(const HostTree& tree, const PythonPackage& package) {
    const fs::path source = package.source;
    for (const fs::path& file : {source / "METADATA", source / "PKG-INFO", source})
        if (auto text = tree.read(file))
            return *std::move(text);
    return {};
}

} // namespace rekindle::doctor
