#include "python/torch_files.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/code_objects.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace rekindle::doctor {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t max_extension_libraries = 48;

/// Packages whose libraries have their own GPU code, by the folder that they install.
constexpr std::array extension_folders = std::to_array<std::string_view>(
    {"bitsandbytes", "flash_attn", "flash_attn_2_cuda", "flash_attn_3", "xformers", "torchvision",
     "torchaudio", "causal_conv1d", "mamba_ssm", "vllm", "aiter", "deepspeed", "apex", "jax_rocm7_plugin",
     "jax_rocm60_plugin", "jax_plugins"});

struct DataFolder {
    std::string_view path, part;
};
/// Where a ROCm keeps these, relative to the folder that has its lib/: torch itself, _rocm_sdk_libraries,
/// /opt/rocm.
constexpr std::array data_folders = std::to_array<DataFolder>({{"lib/rocblas/library", "rocblas"},
                                                               {"lib/hipblaslt/library", "hipblaslt"},
                                                               {"share/miopen/db", "miopen"},
                                                               {"lib/aotriton.images", "aotriton"},
                                                               {".kpack", "kpack"},
                                                               {"lib/.kpack", "kpack"}});

std::string text_in_quotes(std::string_view text) {
    text = trim(text);
    if (text.size() < 2 || (text[0] != '\'' && text[0] != '"'))
        return {};
    const std::size_t end = text.find(text[0], 1);
    return end == std::string_view::npos ? std::string() : std::string(text.substr(1, end - 1));
}

std::string kind_of(const TorchVersionFile& file) {
    return !file.hip.empty() ? "rocm" : !file.cuda.empty() ? "cuda" : !file.xpu.empty() ? "xpu" : "cpu";
}

/// From the local part of a version, "+rocm6.2", if there is no version.py. "" when it does not say.
std::string kind_of_version(std::string_view version) {
    const std::size_t at = version.find('+');
    const std::string_view local = at == std::string_view::npos ? std::string_view{} : version.substr(at + 1);
    for (const std::string_view kind : {"rocm", "cpu", "xpu"})
        if (local.starts_with(kind))
            return std::string(kind);
    return local.starts_with("cu") ? "cuda" : "";
}

bool has_file_beginning(const HostTree& tree, const fs::path& folder, std::string_view beginning) {
    return std::ranges::any_of(tree.list(folder),
                               [&](const std::string& name) { return name.starts_with(beginning); });
}

/// Folders of TheRock's packages in site-packages: _rocm_sdk_core, _rocm_sdk_libraries_gfx1151, …
std::vector<fs::path> rocm_sdk_folders(const HostTree& tree, const PythonPlace& place) {
    std::vector<fs::path> folders;
    for (const fs::path& site : place.site_folders)
        for (const std::string& name : tree.list(site))
            if (name.starts_with("_rocm_sdk_") && tree.is_folder(site / name))
                folders.push_back(site / name);
    return folders;
}

Fact<std::string> tell_rocm_style(const HostTree& tree, const PythonPlace& place, const fs::path& torch,
                                  const PythonPackage* package) {
    if (has_file_beginning(tree, torch / "lib", "libamdhip64"))
        return {"bundled", (torch / "lib").string()};
    const std::vector<fs::path> sdk = rocm_sdk_folders(tree, place);
    if (!sdk.empty())
        return {"packages", sdk.front().string()};
    const std::string metadata = package ? read_package_metadata(tree, *package) : "";
    if (metadata.find("\nRequires-Dist: rocm") != std::string::npos)
        return {"packages", package->source};
    return {"system", (torch / "lib").string()};
}

class TargetReader {
  public:
    TargetReader(const HostTree& tree, const PythonPlace& place, const PythonEnvironment& environment,
                 std::chrono::steady_clock::time_point deadline)
        : tree_(tree), place_(place), environment_(environment), deadline_(deadline) {}

    std::vector<LibraryTargets> run(const fs::path& torch) {
        if (!torch.empty())
            read_torch_libraries(torch);
        read_extensions();
        return std::move(libraries_);
    }

  private:
    bool late(const fs::path& path, const std::string& part) {
        if (std::chrono::steady_clock::now() < deadline_)
            return false;
        LibraryTargets unread;
        unread.path = path.string();
        unread.part = part;
        unread.unread = "not read: the time limit was reached";
        if (!was_late_)
            libraries_.push_back(std::move(unread));
        was_late_ = true;
        return true;
    }

    /// `always`: keep it even when it has no GPU code.
    void add_library(const fs::path& path, const std::string& part, bool always) {
        const auto resolved = tree_.resolve(path);
        if (!resolved || !tree_.is_file(*resolved) || !seen_.insert(*resolved).second || late(path, part))
            return;
        const Expected<LibraryTargets> read =
            read_code_objects(tree_.on_disk(*resolved), {.verified_bytes = 0, .deadline = deadline_});
        LibraryTargets library = read ? *read : LibraryTargets{};
        if (!read)
            library.unread = read.error().message();
        if (!always && library.targets.empty() && library.bytes.empty() && library.unread.empty())
            return;
        library.path = path.string();
        library.part = part;
        libraries_.push_back(std::move(library));
    }

    void add_data(const fs::path& prefix) {
        for (const DataFolder& data : data_folders) {
            const auto resolved = tree_.resolve(prefix / data.path);
            const std::string part(data.part);
            if (!resolved || !tree_.is_folder(*resolved) || !seen_.insert(*resolved).second ||
                late(prefix / data.path, part))
                continue;
            LibraryTargets library = read_library_data(tree_.on_disk(*resolved), part);
            library.path = (prefix / data.path).string();
            libraries_.push_back(std::move(library));
        }
        for (const std::string& name : tree_.list(prefix / "lib"))
            if (name.starts_with("librccl.so"))
                add_library(prefix / "lib" / name, "rccl", false);
    }

    void read_torch_libraries(const fs::path& torch) {
        const bool rocm = environment_.torch_kind.is("rocm");
        if (rocm)
            add_library(torch / "lib/libtorch_hip.so", "torch", true);
        if (environment_.torch_kind.is("cuda"))
            for (const char* name : {"libtorch_cuda.so", "libtorch_cuda_cu.so", "libtorch_cuda_cpp.so"})
                add_library(torch / "lib" / name, "torch", false);
        if (!rocm)
            return;
        add_data(torch);
        for (const fs::path& folder : rocm_sdk_folders(tree_, place_))
            add_data(folder);
        if (environment_.rocm_style.is("system"))
            add_data("/opt/rocm");
    }

    void read_extensions() {
        for (const fs::path& site : place_.site_folders) {
            for (const std::string& name : tree_.list(site)) {
                const std::string module = name.substr(0, name.find('.'));
                const bool known = std::ranges::find(extension_folders, module) != extension_folders.end() ||
                                   module.starts_with("jax_rocm") || module.starts_with("jax_cuda");
                if (!known)
                    continue;
                if (name.ends_with(".so"))
                    add_extension(site / name);
                else if (tree_.is_folder(site / name))
                    read_extension_folder(site / name, 0);
            }
        }
    }

    void add_extension(const fs::path& path) {
        if (extensions_ < max_extension_libraries) {
            ++extensions_;
            add_library(path, "extension", false);
        }
    }

    void read_extension_folder(const fs::path& folder, int depth) {
        for (const std::string& name : tree_.list(folder)) {
            if (name.ends_with(".so") && tree_.is_file(folder / name))
                add_extension(folder / name);
            else if (depth < 2 && name.find('.') == std::string::npos && name[0] != '_' &&
                     tree_.is_folder(folder / name))
                read_extension_folder(folder / name, depth + 1);
        }
    }

    const HostTree& tree_;
    const PythonPlace& place_;
    const PythonEnvironment& environment_;
    std::chrono::steady_clock::time_point deadline_;
    std::vector<LibraryTargets> libraries_;
    std::set<fs::path> seen_;
    std::size_t extensions_ = 0;
    bool was_late_ = false;
};

} // namespace

TorchVersionFile parse_torch_version(std::string_view text) {
    TorchVersionFile file;
    for (const std::string_view line : split(text, '\n')) {
        const std::size_t at = line.find('=');
        if (at == std::string_view::npos || line.starts_with("#"))
            continue;
        // "hip: Optional[str] = '6.2.41133-dd7f95766'"
        const std::string_view name = trim(line.substr(0, std::min(line.find(':'), at)));
        const std::string value = text_in_quotes(line.substr(at + 1));
        if (name == "__version__")
            file.version = value;
        else if (name == "hip")
            file.hip = value;
        else if (name == "cuda")
            file.cuda = value;
        else if (name == "xpu")
            file.xpu = value;
    }
    return file;
}

fs::path read_torch(const HostTree& tree, const PythonPlace& place, const InstalledPackages& installed,
                    PythonEnvironment& environment) {
    const auto package = std::ranges::find(installed.packages, "torch", &PythonPackage::name);
    const bool has_package = package != installed.packages.end();
    fs::path torch;
    for (const fs::path& site : place.site_folders)
        if (torch.empty() && tree.is_folder(site / "torch"))
            torch = site / "torch";
    const fs::path version_file = torch / "version.py";
    const std::optional<std::string> text = torch.empty() ? std::nullopt : tree.read(version_file);
    const TorchVersionFile file = parse_torch_version(text.value_or(""));
    if (!file.version.empty()) {
        const std::string source = version_file.string();
        environment.torch = {file.version, source};
        environment.torch_kind = {kind_of(file), source};
        if (!file.hip.empty())
            environment.torch_hip = {file.hip, source};
        if (!file.cuda.empty())
            environment.torch_cuda = {file.cuda, source};
    } else if (has_package) {
        environment.torch = {package->version, package->source};
        const std::string kind = kind_of_version(package->version);
        environment.torch_kind =
            !kind.empty() ? Fact<std::string>(kind, package->source)
                          : Fact<std::string>::failed("torch/version.py cannot be read", package->source);
    } else {
        return {};
    }
    if (environment.torch_kind.is("rocm"))
        environment.rocm_style = tell_rocm_style(tree, place, torch, has_package ? &*package : nullptr);
    return torch;
}

std::vector<LibraryTargets> read_targets(const HostTree& tree, const PythonPlace& place,
                                         const PythonEnvironment& environment, const fs::path& torch,
                                         std::chrono::steady_clock::time_point deadline) {
    return TargetReader(tree, place, environment, deadline).run(torch);
}

} // namespace rekindle::doctor
