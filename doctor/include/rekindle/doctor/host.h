#pragma once
/// Reading a Linux host. Collectors never judge, never import, never run anything, never write.

#include <rekindle/doctor/facts.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rekindle::doctor {

struct HostOptions {
    /// Of a recorded or mounted host; then nothing of this process is mixed in.
    std::filesystem::path root = "/";
    std::vector<std::string> pythons = {}; ///< --python: interpreters or environment folders
    bool find_pythons = true;              ///< look for others too (active venv, conda, PATH, home folder)
    std::int64_t pid = 0;                  ///< read the environment of this process instead of our own
};

/// Everything, in a fraction of a second: a file that blocks is given up after a deadline and said so.
Facts collect_facts(const HostOptions& options);

} // namespace rekindle::doctor
