#pragma once
/// Which host to read, and which of its Pythons.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rekindle::doctor {

struct HostOptions {
    /// Root of a recorded or mounted host; nothing from this process is then mixed in.
    std::filesystem::path root = "/";
    std::vector<std::string> pythons = {}; ///< --python: interpreters or environment folders
    bool find_pythons = true;              ///< also look for others (active venv, conda, PATH, home folder)
    std::int64_t pid = 0;                  ///< read the environment of this process instead of our own
};

} // namespace rekindle::doctor
