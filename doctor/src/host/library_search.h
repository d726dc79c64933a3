#pragma once
/// Where the dynamic linker would find a library, and what a library needs, read from files. Nothing is
/// loaded.

#include "host_files.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The dependencies of an ELF library.
struct LibraryLinks {
    std::vector<std::string> needed; ///< DT_NEEDED
    std::string search_path;         ///< DT_RUNPATH, or DT_RPATH if there is no DT_RUNPATH
    int bits = 0;                    ///< 64 or 32
};
/// At most `size` bytes from `offset`; fewer at the end.
using ReadBytes = std::function<std::string(std::uint64_t offset, std::size_t size)>;
/// nullopt: not an ELF file, or one whose tables are inconsistent.
std::optional<LibraryLinks> parse_elf_dynamic(const ReadBytes& read);

/// One library of /etc/ld.so.cache.
struct CachedLibrary {
    std::string name;
    std::string path;
    std::uint32_t flags = 0;
};
/// The format that glibc has written since 2.2 ("glibc-ld.so.cache1.1"), alone or after the older one.
/// Empty for any other bytes.
std::vector<CachedLibrary> parse_linker_cache(std::string_view bytes);

/// Searches where ld.so searches, in the same order: the requesting library's own path, LD_LIBRARY_PATH,
/// the cache, the standard folders. Without a cache, the folders of /etc/ld.so.conf.d are used in its
/// place.
class LibrarySearch {
  public:
    LibrarySearch(HostFiles& files, std::string_view ld_library_path, std::string_view architecture);

    /// The path of a library by its soname, as the linker would name it; "" when it is not found.
    std::string find(const std::string& name, const std::vector<std::string>& own_path = {});
    /// Sonames that `library` needs, directly or indirectly, and that are not found. Each once, sorted.
    std::vector<std::string> missing(const std::string& library);

  private:
    bool usable(const std::string& path);
    const LibraryLinks* dynamic(const std::string& path);
    void find_missing(const std::string& library, std::set<std::string>& visited,
                      std::set<std::string>& missing);

    HostFiles& files_;
    std::vector<std::string> first_folders_;
    std::vector<std::string> last_folders_;
    std::map<std::string, std::string> cache_;
    std::map<std::string, std::optional<LibraryLinks>> dynamics_;
    std::map<std::string, bool> usable_;
};

} // namespace rekindle::doctor
