#pragma once
/// Reads a Linux host. Collectors never judge, never import, never run anything, never write.

#include <rekindle/doctor/facts.h>

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

/// Reads everything, in a fraction of a second: a file that blocks is skipped after a deadline, and the
/// fact says so.
Facts collect_facts(const HostOptions& options);

} // namespace rekindle::doctor
