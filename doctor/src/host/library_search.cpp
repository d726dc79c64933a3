#include "library_search.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <cstring>
#include <functional>

namespace rekindle::doctor {

namespace {

/// Maximum number of libraries that one search for missing ones opens.
constexpr std::size_t max_libraries = 400;

constexpr std::uint64_t read_size = 32768, largest_offset = std::uint64_t{1} << 40;

/// Layout of ld.so.cache. Source: glibc, sysdeps/generic/dl-cache.h (struct cache_file_new,
/// file_entry_new).
constexpr std::string_view cache_magic = "glibc-ld.so.cache1.1";
constexpr std::size_t cache_head = 48, cache_entry = 24;
constexpr std::uint32_t kind_mask = 0xff00, kind_x86_64 = 0x0300, kind_aarch64 = 0x0a00;

std::uint32_t dword(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    if (at <= bytes.size() && bytes.size() - at >= sizeof value)
        std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

std::string text_at(std::string_view bytes, std::size_t at) {
    if (at >= bytes.size())
        return {};
    const std::string_view rest = bytes.substr(at);
    return std::string(rest.substr(0, std::min(rest.find('\0'), rest.size())));
}

bool for_architecture(std::uint32_t flags, std::string_view architecture) {
    if (architecture == "x86_64")
        return (flags & kind_mask) == kind_x86_64;
    if (architecture == "aarch64")
        return (flags & kind_mask) == kind_aarch64;
    return true;
}

std::vector<std::string> folders_of(std::string_view list) {
    std::vector<std::string> folders;
    for (const std::string_view folder : split(list, ':'))
        if (folder.starts_with('/'))
            folders.emplace_back(folder);
    return folders;
}

/// "$ORIGIN/../lib:/opt/x" for a library in `folder`.
std::vector<std::string> own_folders(std::string search_path, const std::string& folder) {
    for (const std::string_view token : {"${ORIGIN}", "$ORIGIN"})
        for (std::size_t at = 0; (at = search_path.find(token, at)) != std::string::npos; at += folder.size())
            search_path.replace(at, token.size(), folder);
    return folders_of(search_path);
}

std::vector<std::string> configured_folders(HostFiles& files) {
    std::vector<std::string> folders;
    for (const std::string& name : files.names("/etc/ld.so.conf.d"))
        if (name.ends_with(".conf"))
            for (const std::string& line : files.lines("/etc/ld.so.conf.d/" + name))
                if (trim(line).starts_with('/'))
                    folders.emplace_back(trim(line));
    return folders;
}

} // namespace

std::vector<CachedLibrary> parse_linker_cache(std::string_view bytes) {
    std::vector<CachedLibrary> libraries;
    const std::size_t begin = bytes.find(cache_magic);
    if (begin == std::string_view::npos)
        return libraries;
    bytes.remove_prefix(begin); // offsets count from here
    const std::uint32_t count = dword(bytes, cache_magic.size());
    for (std::size_t i = 0; i < count && cache_head + (i + 1) * cache_entry <= bytes.size(); ++i) {
        const std::size_t entry = cache_head + i * cache_entry;
        CachedLibrary library{text_at(bytes, dword(bytes, entry + 4)),
                              text_at(bytes, dword(bytes, entry + 8)), dword(bytes, entry)};
        if (!library.name.empty() && library.path.starts_with('/'))
            libraries.push_back(std::move(library));
    }
    return libraries;
}

LibrarySearch::LibrarySearch(HostFiles& files, std::string_view ld_library_path,
                             std::string_view architecture)
    : files_(files), first_folders_(folders_of(ld_library_path)) {
    const Fact<std::string> cache = files_.read("/etc/ld.so.cache", 16 << 20);
    if (cache.known())
        for (CachedLibrary& library : parse_linker_cache(*cache))
            if (for_architecture(library.flags, architecture))
                cache_.emplace(std::move(library.name),
                               std::move(library.path)); // the first one wins, as in ld.so
    if (cache_.empty())
        last_folders_ = configured_folders(files_);
    if (!architecture.empty())
        for (const char* parent : {"/lib", "/usr/lib"})
            last_folders_.push_back(fmt::format("{}/{}-linux-gnu", parent, architecture));
    for (const char* folder : {"/lib64", "/usr/lib64", "/lib", "/usr/lib", "/run/opengl-driver/lib"})
        last_folders_.emplace_back(folder);
}

const LibraryLinks* LibrarySearch::dynamic(const std::string& path) {
    const auto known = dynamics_.find(path);
    if (known != dynamics_.end()) {
        const std::optional<LibraryLinks>& links = known->second;
        return links ? &*links : nullptr;
    }
    const auto read = [&](std::uint64_t offset, std::size_t size) {
        return files_.read_part(path, static_cast<std::int64_t>(offset & 0x7fffffffffffffffU), size)
            .value_or("");
    };
    const auto& parsed = dynamics_.emplace(path, parse_elf_dynamic(read)).first->second;
    return parsed ? &*parsed : nullptr;
}

bool LibrarySearch::usable(const std::string& path) {
    const auto known = usable_.find(path);
    if (known != usable_.end())
        return known->second;
    const LibraryLinks* found = files_.exists(path) ? dynamic(path) : nullptr;
    return usable_[path] = found && found->bits == 64; // the linker skips a 32-bit library, too
}

std::string LibrarySearch::find(const std::string& name, const std::vector<std::string>& own_path) {
    if (name.find('/') != std::string::npos)
        return usable(name) ? name : "";
    for (const auto& folders : {std::cref(own_path), std::cref(first_folders_)})
        for (const std::string& folder : folders.get())
            if (std::string path = fmt::format("{}/{}", folder, name); usable(path))
                return path;
    if (const auto cached = cache_.find(name); cached != cache_.end() && usable(cached->second))
        return cached->second;
    for (const std::string& folder : last_folders_)
        if (std::string path = fmt::format("{}/{}", folder, name); usable(path))
            return path;
    return "";
}

void LibrarySearch::find_missing(const std::string& library, std::set<std::string>& visited,
                                 std::set<std::string>& missing) {
    if (visited.size() >= max_libraries || !visited.insert(library).second)
        return;
    const LibraryLinks* dynamic = this->dynamic(library);
    if (!dynamic)
        return;
    const std::string real = files_.resolve(library).value_or(library);
    const std::vector<std::string> own = own_folders(dynamic->search_path, real.substr(0, real.rfind('/')));
    for (const std::string& name : dynamic->needed) {
        const std::string path = find(name, own);
        if (path.empty())
            missing.insert(name);
        else
            find_missing(path, visited, missing);
    }
}

std::vector<std::string> LibrarySearch::missing(const std::string& library) {
    std::set<std::string> visited, missing;
    find_missing(library, visited, missing);
    return {missing.begin(), missing.end()};
}

} // namespace rekindle::doctor
