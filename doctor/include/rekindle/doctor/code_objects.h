#pragma once
/// Which GPU targets a file contains, read from its bytes. Nothing is loaded or run; sizes in the file are
/// not trusted.

#include <rekindle/base/error.h>
#include <rekindle/doctor/facts.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace rekindle::doctor {

/// Targets of the code objects in an ELF library (.hip_fatbin: every concatenated clang offload bundle, plain
/// or compressed (CCOB 2 and 3, zlib and zstd); e_flags of each code object decide where the id is silent),
/// in a bare code object (.hsaco, .co) or in a bundle file. CUDA: the .nv_fatbin section's sm_ targets where
/// they can be told. An error when the file is no such thing or is damaged; what was read before the damage
/// stands in its text.
Expected<LibraryTargets> read_code_objects(const std::filesystem::path& file);
Expected<LibraryTargets> read_code_objects(std::span<const std::byte> file, std::string name);

/// Targets of a folder of data files by their names: rocblas/library, hipblaslt/library, miopen/db,
/// aotriton.images, .kpack.
LibraryTargets read_library_data(const std::filesystem::path& folder, std::string part);

/// "gfx90a" of gfx_target_version 90010 or of the e_flags machine byte; "" for a number that is not known.
std::string gfx_of_kfd_version(int gfx_target_version);
std::string gfx_of_elf_flags(std::uint32_t e_flags);

} // namespace rekindle::doctor
