#include "code_objects/byte_source.h"
#include "code_objects/kpack.h"
#include "code_objects/targets.h"

#include <rekindle/doctor/code_objects.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <system_error>

namespace rekindle::doctor {

namespace {

namespace fs = std::filesystem;

constexpr int deepest_archive = 4;
constexpr std::size_t max_files = 300'000;

/// Calls `visit` with each regular file below the folder; returns why it could not visit them all, or "".
std::string for_each_file(const fs::path& folder,
                          const std::function<void(const fs::path&, std::uint64_t bytes)>& visit) {
    std::error_code error;
    fs::recursive_directory_iterator entry(folder, error), end;
    if (error)
        return error.message();
    std::size_t files = 0;
    for (; entry != end; entry.increment(error)) {
        if (error)
            return error.message();
        std::error_code ignored;
        if (entry.depth() >= deepest_archive || entry->is_symlink(ignored))
            entry.disable_recursion_pending();
        if (!entry->is_regular_file(ignored))
            continue;
        if (++files > max_files)
            return fmt::format("more than {} files; the rest was not read", max_files);
        const std::uintmax_t size = entry->file_size(ignored);
        visit(entry->path(), ignored ? 0 : size);
    }
    return error ? error.message() : "";
}

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/// "gfx90a:xnack-" from "Kernels.so-000-gfx90a-xnack-.hsaco"; "" when the name has no target.
std::string target_in_kernel_name(std::string_view name) {
    const std::size_t at = name.find("gfx");
    if (at == std::string_view::npos)
        return {};
    std::size_t end = at + 3;
    while (end < name.size() && is_hex(name[end]))
        ++end;
    // "gfx11-generic", "gfx9-4-generic"
    for (const std::size_t generic : {end, end + 2})
        if (name.substr(std::min(generic, name.size())).starts_with("-generic") &&
            (generic == end || name[end] == '-'))
            return std::string(name.substr(at, generic + 8 - at));
    if (end == at + 3)
        return {};
    std::string target(name.substr(at, end - at));
    for (const std::string_view feature : {"sramecc", "xnack"}) {
        const std::size_t begin = name.find(feature, end);
        const std::size_t sign = begin + feature.size();
        if (begin != std::string_view::npos && sign < name.size() && (name[sign] == '+' || name[sign] == '-'))
            target += fmt::format(":{}", name.substr(begin, feature.size() + 1));
    }
    return target;
}

/// "gfx908" from "gfx90878.HIP.fdb.txt": MIOpen puts the number of compute units right after the name, in
/// hexadecimal when it is above 64 (GetDbBasename in its source).
std::string target_in_database_name(std::string_view name) {
    if (!name.starts_with("gfx"))
        return {};
    const std::string_view known = known_target_prefix(name);
    return known.empty() ? target_in_kernel_name(name) : std::string(known);
}

/// From the file's name, or from the folder that contains it.
std::string target_of_kernel_file(const fs::path& file) {
    std::string target = target_in_kernel_name(file.filename().string());
    return target.empty() ? target_in_kernel_name(file.parent_path().filename().string()) : target;
}

void finish(LibraryTargets& library) {
    for (const auto& [target, bytes] : library.bytes)
        if (bytes > 0)
            library.targets.push_back(target);
}

/// rocBLAS and hipBLASLt open TensileLibrary_lazy_<target>.dat (in older releases TensileLibrary.dat)
/// before any kernel.
LibraryTargets read_tensile(const fs::path& folder) {
    LibraryTargets library;
    std::set<std::string> indexed;
    bool common_index = false;
    library.unread = for_each_file(folder, [&](const fs::path& file, std::uint64_t bytes) {
        const std::string name = file.filename().string();
        const std::string target = target_of_kernel_file(file);
        const bool index = name.starts_with("TensileLibrary") && !name.starts_with("TensileLibrary_Type_") &&
                           (name.ends_with(".dat") || name.ends_with(".yaml"));
        if (!target.empty())
            library.bytes[target] += bytes;
        if (index && bytes > 0 && target.empty())
            common_index = true;
        else if (index && bytes > 0)
            indexed.insert(target.substr(0, target.find(':')));
    });
    std::string without_index;
    for (const auto& [target, bytes] : library.bytes) {
        if (common_index || indexed.contains(target.substr(0, target.find(':'))))
            library.targets.push_back(target);
        else
            without_index += fmt::format("{}{}", without_index.empty() ? "" : ", ", target);
    }
    if (!without_index.empty())
        library.unread += fmt::format("{}kernels without their index (TensileLibrary_lazy_*.dat): {}",
                                      library.unread.empty() ? "" : "; ", without_index);
    return library;
}

LibraryTargets read_names(const fs::path& folder,
                          const std::function<std::string(const fs::path&)>& target_of) {
    LibraryTargets library;
    library.unread = for_each_file(folder, [&](const fs::path& file, std::uint64_t bytes) {
        const std::string target = target_of(file);
        if (!target.empty())
            library.bytes[target] += bytes;
    });
    finish(library);
    return library;
}

/// aotriton.images/amd-gfx90a/flash/…: the name of the first folder.
std::string target_of_image(const fs::path& folder, const fs::path& file) {
    const fs::path relative = file.lexically_relative(folder);
    const std::string first = relative.empty() ? std::string() : relative.begin()->string();
    return first.starts_with("amd-gfx") ? first.substr(4) : std::string();
}

LibraryTargets read_kpacks(const fs::path& folder) {
    LibraryTargets library;
    const std::string problem = for_each_file(folder, [&](const fs::path& file, std::uint64_t) {
        if (file.extension() != ".kpack")
            return;
        const Expected<LibraryTargets> pack = read_code_objects(file);
        const std::string unread = pack ? pack->unread : pack.error().message();
        if (!unread.empty())
            library.unread +=
                fmt::format("{}{}: {}", library.unread.empty() ? "" : "; ", file.filename().string(), unread);
        if (pack)
            for (const auto& [target, bytes] : pack->bytes)
                library.bytes[target] += bytes;
    });
    if (!problem.empty())
        library.unread += fmt::format("{}{}", library.unread.empty() ? "" : "; ", problem);
    finish(library);
    return library;
}

} // namespace

LibraryTargets read_library_data(const fs::path& folder, std::string part) {
    LibraryTargets library;
    if (part == "rocblas" || part == "hipblaslt")
        library = read_tensile(folder);
    else if (part == "miopen")
        library = read_names(
            folder, [](const fs::path& file) { return target_in_database_name(file.filename().string()); });
    else if (part == "aotriton")
        library = read_names(folder, [&](const fs::path& file) { return target_of_image(folder, file); });
    else if (part == "kpack")
        library = read_kpacks(folder);
    else
        throw internal_error(fmt::format("unknown kind of library data '{}'", part));
    library.path = folder.string();
    library.part = std::move(part);
    return library;
}

} // namespace rekindle::doctor
