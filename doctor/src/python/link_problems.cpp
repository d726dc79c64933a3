#include "python/link_problems.h"

#include "code_objects/elf.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>

namespace rekindle::doctor {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t max_problems = 12;
constexpr std::size_t max_linked_libraries = 400;
constexpr int deepest_include = 4;

/// Provided by the host's driver, or by the linker itself.
constexpr std::array brought_by_the_host = std::to_array<std::string_view>(
    {"libcuda.so", "libnvidia-", "libnvcuvid.so", "ld-linux", "linux-vdso", "libze_loader.so"});

bool is_library_name(std::string_view name) {
    return name.ends_with(".so") || name.find(".so.") != std::string_view::npos;
}

/// Folders in /etc/ld.so.conf and the files that it includes, and the built-in ones.
class LinkerFolders {
  public:
    explicit LinkerFolders(const HostTree& tree) : tree_(tree) {
        for (const char* folder : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
                                   "/usr/lib64", "/lib", "/usr/lib"})
            folders_.emplace_back(folder);
        read("/etc/ld.so.conf", 0);
    }
    std::vector<fs::path> take() { return std::move(folders_); }

  private:
    void read(const fs::path& file, int depth) {
        const std::string text = tree_.read(file, 64 << 10).value_or("");
        for (std::string_view line : split(text, '\n')) {
            line = trim(line.substr(0, line.find('#')));
            if (line.starts_with("include ") && depth < deepest_include)
                include(fs::path(trim(line.substr(8))), file.parent_path(), depth);
            else if (line.starts_with("/"))
                folders_.emplace_back(line);
        }
    }

    /// "/etc/ld.so.conf.d/*.conf": a star is supported in the last part only.
    void include(fs::path pattern, const fs::path& base, int depth) {
        if (pattern.is_relative())
            pattern = base / pattern;
        const std::string name = pattern.filename().string();
        const std::size_t star = name.find('*');
        if (star == std::string::npos)
            return read(pattern, depth + 1);
        for (const std::string& candidate : tree_.list(pattern.parent_path()))
            if (candidate.size() + 1 >= name.size() && candidate.starts_with(name.substr(0, star)) &&
                candidate.ends_with(name.substr(star + 1)))
                read(pattern.parent_path() / candidate, depth + 1);
    }

    const HostTree& tree_;
    std::vector<fs::path> folders_;
};

class LinkCheck {
  public:
    LinkCheck(const HostTree& tree, std::vector<fs::path> folders)
        : tree_(tree), folders_(std::move(folders)) {}

    void start_with(const fs::path& library) {
        if (seen_.insert(library.filename().string()).second)
            left_.push_back(library);
    }

    std::vector<std::string> run() {
        std::vector<std::pair<std::string, fs::path>> missing;
        for (std::size_t libraries = 0; !left_.empty() && libraries < max_linked_libraries; ++libraries) {
            const fs::path library = left_.front();
            left_.pop_front();
            const ElfDynamic dynamic = read_dynamic(library);
            for (const std::string& path : dynamic.search_paths)
                add_search_path(path, library.parent_path());
            for (const std::string& name : dynamic.needed) {
                if (host_brings(name) || !seen_.insert(name).second)
                    continue;
                const fs::path found = find(name, library.parent_path());
                if (found.empty())
                    missing.emplace_back(name, library);
                else
                    left_.push_back(found);
            }
        }
        // A run path that is found later may lead to it.
        std::erase_if(missing,
                      [&](const auto& one) { return !find(one.first, one.second.parent_path()).empty(); });
        std::vector<std::string> problems;
        for (const auto& [name, library] : missing)
            if (problems.size() < max_problems)
                problems.push_back(fmt::format("{} needs {}, which was not found", library.string(), name));
        return problems;
    }

  private:
    static bool host_brings(std::string_view name) {
        return std::ranges::any_of(brought_by_the_host,
                                   [&](std::string_view beginning) { return name.starts_with(beginning); });
    }

    ElfDynamic read_dynamic(const fs::path& library) const {
        try {
            const FileSource file(tree_.on_disk(tree_.resolve(library).value_or(library)));
            const auto header = read_elf_header(file);
            return header ? read_elf_dynamic(file, read_elf_sections(file, *header)) : ElfDynamic{};
        } catch (const Error&) {
            return {};
        }
    }

    void add_search_path(std::string path, const fs::path& origin) {
        for (const std::string_view word : {"$ORIGIN", "${ORIGIN}"})
            if (const std::size_t at = path.find(word); at != std::string::npos)
                path.replace(at, word.size(), origin.string());
        const fs::path folder = fs::path(path).lexically_normal();
        if (folder.is_absolute() && folders_.size() < 200 &&
            std::ranges::find(folders_, folder) == folders_.end())
            folders_.push_back(folder);
    }

    fs::path find(const std::string& name, const fs::path& beside) {
        if (has(beside, name))
            return beside / name;
        for (const fs::path& folder : folders_)
            if (has(folder, name))
                return folder / name;
        return {};
    }

    bool has(const fs::path& folder, const std::string& name) {
        auto names = listed_.find(folder);
        if (names == listed_.end()) {
            const std::vector<std::string> list = tree_.list(folder);
            names = listed_.emplace(folder, std::set<std::string>(list.begin(), list.end())).first;
        }
        return names->second.contains(name) && tree_.is_file(folder / name);
    }

    const HostTree& tree_;
    std::vector<fs::path> folders_;
    std::map<fs::path, std::set<std::string>> listed_;
    std::set<std::string> seen_;
    std::deque<fs::path> left_;
};

} // namespace

std::vector<std::string> broken_links(const HostTree& tree, const PythonPlace& place, const fs::path& torch) {
    std::vector<std::string> problems;
    const auto check = [&](const fs::path& path) {
        const auto target = tree.link_target(path);
        if (target && !tree.resolve(path) && problems.size() < max_problems)
            problems.push_back(
                fmt::format("{} is a link to {}, which does not exist", path.string(), target->string()));
    };
    if (!place.interpreter.empty())
        check(place.interpreter);
    // A whole system's lib folder does not belong to the environment.
    std::vector<fs::path> folders;
    if (place.kind == "conda" || place.kind == "venv")
        folders.push_back(place.prefix / "lib");
    if (!torch.empty())
        folders.push_back(torch / "lib");
    for (const fs::path& folder : folders)
        for (const std::string& name : tree.list(folder))
            if (is_library_name(name))
                check(folder / name);
    return problems;
}

std::vector<std::string> missing_libraries(const HostTree& tree, const PythonPlace& place,
                                           const fs::path& torch, std::string_view ld_library_path) {
    std::vector<fs::path> folders;
    for (const std::string_view folder : split(ld_library_path, ':'))
        if (folder.starts_with("/"))
            folders.emplace_back(folder);
    for (const fs::path& site : place.site_folders) {
        // Intel's packages put libraries into lib/ of the environment, or of ~/.local.
        folders.push_back(site.parent_path().parent_path());
        for (const std::string& name : tree.list(site)) {
            if (name.starts_with("_rocm_sdk_"))
                folders.push_back(site / name / "lib");
            if (name == "nvidia")
                for (const std::string& part : tree.list(site / name))
                    folders.push_back(site / name / part / "lib");
        }
    }
    folders.push_back(place.prefix / "lib");
    for (const fs::path& folder : LinkerFolders(tree).take())
        folders.push_back(folder);
    LinkCheck check(tree, std::move(folders));
    for (const std::string& name : tree.list(torch / "lib"))
        for (const std::string_view beginning :
             {"libtorch_hip.so", "libtorch_cuda.so", "libtorch_cpu.so", "libtorch_python.so", "libc10"})
            if (name.starts_with(beginning) && is_library_name(name) && tree.is_file(torch / "lib" / name))
                check.start_with(torch / "lib" / name);
    return check.run();
}

} // namespace rekindle::doctor
