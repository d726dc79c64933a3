#include "probes/shared_library.h"

#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace rekindle::doctor {

namespace {

std::string path_of(void* handle, const std::string& otherwise) {
    link_map* map = nullptr;
    if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0')
        return map->l_name;
    return otherwise;
}

/// Whether the linker's message says that the requested file is missing, not one that it needs.
bool is_absence(const std::string& message, const std::string& name) {
    return message.starts_with(name + ": cannot open shared object file: No such file");
}

} // namespace

SharedLibrary SharedLibrary::open(std::span<const std::string> names, std::span<const std::string> folders) {
    SharedLibrary library;
    const auto try_open = [&](const std::string& file) {
        library.handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library.handle_ != nullptr) {
            library.path_ = path_of(library.handle_, file);
            return true;
        }
        const char* message = ::dlerror();
        const std::string text = message != nullptr ? message : "unknown linker error";
        if (!is_absence(text, file) && !library.broken_) {
            library.broken_ = true;
            library.problem_ = text;
        }
        return false;
    };
    for (const std::string& folder : folders)
        for (const std::string& name : names)
            if (const std::string file = fmt::format("{}/{}", folder, name);
                ::access(file.c_str(), F_OK) == 0 && try_open(file))
                return library;
    for (const std::string& name : names)
        if (try_open(name))
            return library;
    if (!library.broken_)
        library.problem_ = folders.empty()
                               ? fmt::format("the linker does not find {}", fmt::join(names, " or "))
                               : fmt::format("no {} in {}, and the linker does not find one",
                                             fmt::join(names, " or "), fmt::join(folders, ", "));
    return library;
}

void* SharedLibrary::symbol(const char* name) const {
    return ::dlsym(handle_, name);
}

void* SharedLibrary::required_symbol(const char* name) const {
    void* found = symbol(name);
    if (found == nullptr)
        throw Error(fmt::format("{} has no function {}", path_, name));
    return found;
}

} // namespace rekindle::doctor
