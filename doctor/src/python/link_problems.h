#pragma once
/// What would stop the dynamic linker when PyTorch is imported, told from the files: links that lead nowhere,
/// libraries that others need and that are nowhere to be found.

#include "python/find_places.h"

#include <filesystem>
#include <string>
#include <vector>

namespace rekindle::doctor {

/// Links of the environment's own folders that lead nowhere: its interpreter, and shared libraries in lib/
/// and torch/lib.
std::vector<std::string> broken_links(const HostTree& tree, const PythonPlace& place,
                                      const std::filesystem::path& torch);

/// Sonames that torch's libraries need, directly or through others, and that lie in none of the folders where
/// they could come from: run paths, LD_LIBRARY_PATH, the linker's configured folders, the environment's lib/
/// and the folders of NVIDIA's and AMD's packages, which PyTorch loads beforehand. Libraries of a GPU's
/// driver (libcuda.so.1) are left out: the host brings those.
std::vector<std::string> missing_libraries(const HostTree& tree, const PythonPlace& place,
                                           const std::filesystem::path& torch,
                                           std::string_view ld_library_path);

} // namespace rekindle::doctor
