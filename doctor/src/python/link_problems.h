#pragma once
/// What would stop the dynamic linker when PyTorch is imported, determined from files: broken links, and
/// libraries that others need and that cannot be found.

#include "python/find_places.h"

#include <filesystem>
#include <string>
#include <vector>

namespace rekindle::doctor {

/// Broken links in the environment's own folders: its interpreter, and shared libraries in lib/ and
/// torch/lib.
std::vector<std::string> broken_links(const HostTree& tree, const PythonPlace& place,
                                      const std::filesystem::path& torch);

/// Sonames that torch's libraries need, directly or indirectly, and that are in none of the folders where
/// they could come from: run paths, LD_LIBRARY_PATH, the linker's configured folders, the environment's
/// lib/ and the folders of NVIDIA's and AMD's packages, which PyTorch loads beforehand. Libraries of a GPU
/// driver (libcuda.so.1) are skipped: the host provides those.
std::vector<std::string> missing_libraries(const HostTree& tree, const PythonPlace& place,
                                           const std::filesystem::path& torch,
                                           std::string_view ld_library_path);

} // namespace rekindle::doctor
