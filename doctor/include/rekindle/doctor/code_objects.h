#pragma once
/// Which GPU targets a file contains, read from its bytes. Nothing is loaded or run; sizes in the file are
/// not trusted.

#include <rekindle/base/error.h>
#include <rekindle/doctor/facts.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace rekindle::doctor {

struct ScanOptions {
    /// How many bytes a scan decompresses, per file, to compare code objects' own ELF headers with the names
    /// that their bundles give them. With 0 only the beginning of each compressed bundle is read: a fraction
    /// of a second for a library of several gigabytes.
    std::uint64_t verified_bytes = 64 << 20;
    /// The scan stops then and says so in `unread`.
    std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
};

/// Targets of the code objects in an ELF library (.hip_fatbin: every concatenated clang offload bundle, plain
/// or compressed (CCOB 2 and 3, zlib and zstd); .rocm_kpack_ref: the kernel packs that it names, which are
/// looked for next to the file), in a bare code object (.hsaco, .co: its e_flags), in a file of bundles or in
/// a kernel pack. CUDA: "sm_90" and "compute_90" of .nv_fatbin; the letter of architecture-specific code
/// (sm_90a) is not told. A library without device code has no targets. Damage is told in `unread`, next to
/// what could be read; `bytes` also has the targets that are named but have no code at all (0). An error when
/// the file cannot be opened, is none of these, or nothing of it can be read. Compressed bundles of version 1
/// do not say where they end: told as unread. Memory: bounded (verified_bytes and about 2 MiB). Thread-safe.
Expected<LibraryTargets> read_code_objects(const std::filesystem::path& file,
                                           const ScanOptions& options = {});
/// The same of bytes in memory; `name` stands in errors. Kernel packs of other files are not looked for.
Expected<LibraryTargets> read_code_objects(std::span<const std::byte> file, std::string name,
                                           const ScanOptions& options = {});

/// Targets of a folder of data files by their names and sizes. `part` is one of
/// - "rocblas", "hipblaslt" (…/library): targets whose index (TensileLibrary*.dat) is there; one that has
///   kernels and no index is named in `unread`, and has its bytes;
/// - "miopen" (…/miopen/db), "kpack" (.kpack: every kernel pack in it);
/// - "aotriton" (aotriton.images): family names such as "gfx11xx" stay as they are.
/// A folder that cannot be read says so in `unread`.
LibraryTargets read_library_data(const std::filesystem::path& folder, std::string part);

/// "gfx90a" of gfx_target_version 90010 (major · 10,000 + minor · 100 + step); "" for a number of another
/// form.
std::string gfx_of_kfd_version(int gfx_target_version);
/// "gfx90a" of the machine byte of a code object's e_flags; "" for one that is not known.
std::string gfx_of_elf_flags(std::uint32_t e_flags);

} // namespace rekindle::doctor
