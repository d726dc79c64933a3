#pragma once
/// Which GPU targets a file contains, read from its bytes. Nothing is loaded or run; sizes in the file are
/// not trusted.

#include <rekindle/doctor/facts.h>
#include <rekindle/foundation/error.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace rekindle::doctor {

struct ScanOptions {
    /// How many bytes per file a scan decompresses to compare the ELF headers of code objects with the
    /// names that their bundles give them. With 0 it reads only the beginning of each compressed bundle: a
    /// fraction of a second for a library of several gigabytes.
    std::uint64_t verified_bytes = 64 << 20;
    /// The scan stops at this time and says so in `unread`.
    std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
};

/// Targets of the code objects in an ELF library (.hip_fatbin: every concatenated clang offload bundle,
/// plain or compressed (CCOB 2 and 3, zlib and zstd); .rocm_kpack_ref: the kernel packs that it names,
/// which are looked for next to the file), in a bare code object (.hsaco, .co: its e_flags), in a file of
/// bundles or in a kernel pack. CUDA: "sm_90" and "compute_90" of .nv_fatbin; the letter of
/// architecture-specific code (sm_90a) is not reported. A library without device code has no targets.
/// Damage is described in `unread`, along with whatever could be read; `bytes` also has the targets that
/// are named but have no code (0). Returns an error when the file cannot be opened, has none of these
/// formats, or nothing in it can be read. Compressed bundles of version 1 do not say where they end, so
/// they are reported as unread. Memory is bounded (verified_bytes plus about 2 MiB). Thread-safe.
Expected<LibraryTargets> read_code_objects(const std::filesystem::path& file,
                                           const ScanOptions& options = {});
/// The same for bytes in memory; errors mention `name`. Kernel packs in other files are not looked for.
Expected<LibraryTargets> read_code_objects(std::span<const std::byte> file, std::string name,
                                           const ScanOptions& options = {});

/// Targets of a folder of data files, from their names and sizes. `part` is one of
/// - "rocblas", "hipblaslt" (…/library): targets that have an index (TensileLibrary*.dat); a target that
///   has kernels but no index is named in `unread` and keeps its bytes;
/// - "miopen" (…/miopen/db), "kpack" (.kpack: every kernel pack in it);
/// - "aotriton" (aotriton.images): family names such as "gfx11xx" stay as they are.
/// A folder that cannot be read says so in `unread`.
LibraryTargets read_library_data(const std::filesystem::path& folder, std::string part);

/// "gfx90a" for gfx_target_version 90010 (major · 10,000 + minor · 100 + step); "" for a number of any
/// other form.
std::string gfx_of_kfd_version(int gfx_target_version);
/// "gfx90a" from the machine byte of a code object's e_flags; "" for an unknown one.
std::string gfx_of_elf_flags(std::uint32_t e_flags);

} // namespace rekindle::doctor
