#pragma once
/// The parts of an ELF file (64-bit, little-endian) that show what it is, what it contains and what it
/// needs. Formats: System V ABI, gABI chapters 4 and 5; LLVM's AMDGPUUsage for EM_AMDGPU.

#include "code_objects/byte_source.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

constexpr std::uint16_t elf_machine_amdgpu = 224;
constexpr std::uint16_t elf_machine_x86_64 = 62;

struct ElfHeader {
    std::uint8_t abi_version = 0;
    std::uint16_t machine = 0;
    std::uint32_t flags = 0;
    std::uint64_t section_table = 0; ///< offset in the file
    std::uint16_t section_entry_size = 0;
    std::uint16_t section_count = 0;
    std::uint16_t section_names = 0; ///< index of the section that holds the names
};

struct ElfSection {
    std::string name;
    std::uint32_t type = 0;
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint32_t link = 0;
    /// The part of the section that the file really has; empty for a section without bytes in the file
    /// (SHT_NOBITS).
    ByteRange range(const ByteSource& source) const noexcept;
};

/// The data that the dynamic linker reads from a library.
struct ElfDynamic {
    std::string soname;
    std::vector<std::string> needed;
    std::vector<std::string> search_paths; ///< DT_RPATH and DT_RUNPATH, split at ":"
};

/// Returns nothing when there is no 64-bit little-endian ELF header at `offset`.
std::optional<ElfHeader> read_elf_header(const ByteSource& source, std::uint64_t offset = 0);

/// The sections of the file that this header belongs to. Throws Error when the section table lies outside
/// the file or has more than 65,536 entries; a name outside the name table is empty.
std::vector<ElfSection> read_elf_sections(const ByteSource& source, const ElfHeader& header);

/// Empty when there is no dynamic section. Entries that point outside the file are skipped.
ElfDynamic read_elf_dynamic(const ByteSource& source, const std::vector<ElfSection>& sections);

} // namespace rekindle::doctor
