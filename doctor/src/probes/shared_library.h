#pragma once
/// Driver libraries, opened at run time. Only child processes of probes open any, because loading runs
/// other people's code.

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rekindle::doctor {

/// Stays loaded until the process ends: unloading drivers can crash.
class SharedLibrary {
  public:
    /// The first of `names` that can be opened in one of `folders`, in this order, and then by the linker's
    /// own search. Every name is tried in a folder before the next folder is.
    static SharedLibrary open(std::span<const std::string> names, std::span<const std::string> folders);

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    /// The file, as the linker found it.
    const std::string& path() const noexcept { return path_; }
    /// For a library that could not be opened: "no libamdhip64.so.6 or libamdhip64.so.5 in /opt/rocm/lib,
    /// and the linker does not find one", or the linker's own message about the file that is there.
    const std::string& problem() const noexcept { return problem_; }
    /// Whether a file was there but could not be loaded: then problem() is a failure and not a missing
    /// library.
    bool broken() const noexcept { return broken_; }

    /// The function with that name, or nullptr.
    template <class Function>
    Function* find(const char* name) const {
        return reinterpret_cast<Function*>(symbol(name));
    }
    /// The same; throws Error when the library does not have it.
    template <class Function>
    Function* get(const char* name) const {
        return reinterpret_cast<Function*>(required_symbol(name));
    }

  private:
    void* symbol(const char* name) const;
    void* required_symbol(const char* name) const;

    void* handle_ = nullptr;
    std::string path_;
    std::string problem_;
    bool broken_ = false;
};

} // namespace rekindle::doctor
