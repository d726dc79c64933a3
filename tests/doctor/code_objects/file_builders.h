#pragma once
/// Builds small files in the formats that the scanner reads, byte by byte: ELF libraries with sections, GPU
/// code objects, offload bundles, compressed ones, CUDA fat binaries and kernel packs.

#include "temporary_folder.h"

#include <rekindle/doctor/code_objects.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rekindle::doctor::fixtures {

std::span<const std::byte> bytes_of(const std::string& text);

/// The bytes of a number as stored in the file.
template <class T>
std::string little_endian(T value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

struct SectionSpec {
    std::string name;
    std::string content;
    std::uint32_t type = 1; ///< SHT_PROGBITS
    std::uint32_t link = 0; ///< index of another section, counted from 1
};

/// A 64-bit ELF file with these sections after the empty one, and the name table as the last section.
std::string make_elf(const std::vector<SectionSpec>& sections, std::uint16_t machine = 62,
                     std::uint32_t flags = 0, std::uint8_t abi_version = 0);
/// A library that needs these sonames; more sections may follow.
std::string make_library(const std::vector<std::string>& needed, const std::string& soname = "",
                         const std::string& search_path = "", std::vector<SectionSpec> sections = {});
/// A GPU code object (version 5) of `size` bytes.
std::string make_code_object(std::uint32_t flags, std::size_t size = 256);

/// Entries: id and content.
using BundleContent = std::vector<std::pair<std::string, std::string>>;
/// A clang offload bundle; the first entry's content begins at `alignment`.
std::string make_bundle(const BundleContent& entries, std::size_t alignment = 4096);
/// "host-…" and one code object for each target, with the matching flags for gfx900 (xnack-), gfx1030,
/// gfx1100, gfx90a.
std::string make_hip_bundle(const std::vector<std::string>& targets, std::size_t alignment = 4096);
std::uint32_t flags_of(const std::string& target);

std::string zstd_compressed(const std::string& text);
std::string zlib_compressed(const std::string& text);
/// CCOB of version 2 or 3.
std::string make_compressed_bundle(const std::string& bundle, int version, bool zlib = false);

struct FatbinEntrySpec {
    std::uint16_t kind; ///< 1: PTX, 2: machine code
    std::uint32_t architecture;
    std::string content;
};
std::string make_cuda_region(const std::vector<FatbinEntrySpec>& entries);

/// A kernel pack with uncompressed code: library → (target → code).
struct PackSpec {
    std::vector<std::string> targets;
    std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>> libraries;
};
std::string make_kpack(const PackSpec& pack);
/// Content of a section .rocm_kpack_ref.
std::string make_kpack_reference(const std::string& library, const std::vector<std::string>& patterns);

/// The result of scanning a file with these bytes.
inline LibraryTargets scan(const std::string& file, const ScanOptions& options = {}) {
    return read_code_objects(bytes_of(file), "made", options).value();
}

/// A temporary folder to put files and links in.
class ScratchFolder : public rekindle::test::TemporaryFolder {
  public:
    /// Writes a file below the folder, with the folders above it; returns its path.
    std::filesystem::path add(const std::string& relative, const std::string& content) const;
    void link(const std::string& relative, const std::string& target) const;
};

} // namespace rekindle::doctor::fixtures
