#pragma once
/// ROCm kernel packs: a library's device code in files of their own, one for each target (ROCm 7.13 and
/// later, TheRock's RFC 0008). The library keeps a section .rocm_kpack_ref that names them.

#include "code_objects/byte_source.h"
#include "code_objects/targets.h"

#include <rekindle/base/error.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

constexpr std::string_view kpack_magic = "KPAK";

struct Kpack {
    std::vector<std::string> targets; ///< those that it says it is for, whether or not it has code for them
    /// Library ("lib/librocrand.so.1", as the pack names it) → target → bytes of its code, uncompressed.
    std::map<std::string, std::map<std::string, std::uint64_t>> libraries;
    std::uint64_t stored_bytes = 0; ///< of all the code as it lies in the file, compressed or not
    std::string damage;             ///< "" or what is wrong with the sizes
};

/// Throws nothing of its own; an error when it is no pack, of another version, or its table is damaged.
Expected<Kpack> read_kpack(const ByteSource& source);

struct KpackReference {
    std::string library;               ///< its name in the packs
    std::vector<std::string> patterns; ///< paths from the library's folder; "@GFXARCH@" stands for a target
};

Expected<KpackReference> read_kpack_reference(const ByteSource& source, ByteRange section);

/// Adds what the packs that `reference` names hold for that library. Packs are looked for as the HIP runtime
/// does, relative to the library's folder; that there are none is noted.
void read_referenced_kpacks(const KpackReference& reference, const std::filesystem::path& folder,
                            TargetCollector& found);

} // namespace rekindle::doctor
