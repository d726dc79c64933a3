#pragma once
/// ROCm kernel packs: a library's device code in separate files, one for each target (ROCm 7.13 and later,
/// TheRock's RFC 0008). The library has a section .rocm_kpack_ref that names them.

#include "code_objects/byte_source.h"
#include "code_objects/targets.h"

#include <rekindle/foundation/error.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

constexpr std::string_view kpack_magic = "KPAK";

struct Kpack {
    /// The targets that it claims to be for, whether or not it has code for them.
    std::vector<std::string> targets;
    /// Library ("lib/librocrand.so.1", as the pack names it) → target → bytes of its code, uncompressed.
    std::map<std::string, std::map<std::string, std::uint64_t>> libraries;
    std::uint64_t stored_bytes = 0; ///< of all the code as stored in the file, compressed or not
    std::string damage;             ///< what is wrong with the sizes, or ""
};

/// Does not throw; returns an error when it is not a pack, has another version, or its table is damaged.
Expected<Kpack> read_kpack(const ByteSource& source);

struct KpackReference {
    std::string library; ///< its name in the packs
    /// Paths relative to the library's folder; "@GFXARCH@" stands for a target.
    std::vector<std::string> patterns;
};

Expected<KpackReference> read_kpack_reference(const ByteSource& source, ByteRange section);

/// Adds what the packs named by `reference` contain for that library. Packs are looked for the way the HIP
/// runtime does it, relative to the library's folder; a note says when there are none.
void read_referenced_kpacks(const KpackReference& reference, const std::filesystem::path& folder,
                            TargetCollector& found);

} // namespace rekindle::doctor
