#pragma once
/// Finds installed packages by the folders that installers create (PEP 376 and 610): NAME-VERSION.dist-info
/// and .egg-info.

#include "python/host_tree.h"

#include <rekindle/doctor/facts.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

struct InstalledPackages {
    std::vector<PythonPackage> packages;       ///< those that matter for training on a GPU, sorted by name
    std::vector<std::string> private_backends; ///< packages that register a PrivateUse1 device
    std::vector<std::string> problems;
};

/// Packages in these folders; if one is in several, the first folder's counts, as for Python.
InstalledPackages read_packages(const HostTree& tree, const std::vector<std::filesystem::path>& site_folders);

/// PEP 503: lower case, "-" for runs of "-", "_" and ".".
std::string normalized_package_name(std::string_view name);
bool package_matters(std::string_view normalized_name);

/// The package's metadata file as text; "" when there is none.
std::string read_package_metadata(const HostTree& tree, const PythonPackage& package);

} // namespace rekindle::doctor
