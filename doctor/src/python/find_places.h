#pragma once
/// Finds Pythons: the ones that are named, the active one, and those in the usual folders.

#include "python/host_tree.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The inputs that determine which Python a person means.
struct PythonSearch {
    std::vector<std::string> named; ///< --python: interpreters, environment folders, or commands in PATH
    bool others = true;             ///< look beyond the named ones
    /// PATH, VIRTUAL_ENV, CONDA_PREFIX, PYENV_*, PYTHONPATH, LD_LIBRARY_PATH.
    std::map<std::string, std::string> variables;
    std::string variables_of = "this process";
    std::filesystem::path working_folder;      ///< empty: unknown
    std::vector<std::filesystem::path> homes;  ///< home folders to search
    std::filesystem::path running_interpreter; ///< of a process that is examined; empty: none

    /// "" when it is not set.
    std::string_view variable(const std::string& name) const;
};

struct PythonPlace {
    std::filesystem::path prefix;
    std::filesystem::path interpreter; ///< as found, not resolved; empty: there is none
    std::string kind;                  ///< "venv", "conda", "system", "user"
    std::string found_by;
    bool active = false;
    std::string version; ///< "3.10"; "" when unknown
    std::string version_source;
    std::vector<std::filesystem::path> site_folders; ///< in the order in which Python searches them
    std::string error;                               ///< for a named one that is not a Python: why
};

/// At most 40 places, each prefix once: the named ones first, then the active one, then the others. Reads
/// files only; nothing is run, so a pyenv shim is followed by its rules (PYENV_VERSION, .python-version,
/// version).
std::vector<PythonPlace> find_places(const HostTree& tree, const PythonSearch& search);

/// "3.10" for "python3.10", "3.10.12", "3.10.12.final.0"; "" for anything else.
std::string short_python_version(std::string_view text);
/// Value of a line "key = value" in a pyvenv.cfg.
std::string pyvenv_value(std::string_view text, std::string_view key);

} // namespace rekindle::doctor
