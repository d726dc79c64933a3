#include "library_search.h"

#include <array>
#include <cstring>
#include <elf.h>

namespace rekindle::doctor {

namespace {

constexpr std::size_t max_segments = 256, max_entries = 4096, longest_string = 4096;

template <class T>
std::optional<T> read_struct(const ReadBytes& read, std::uint64_t offset) {
    const std::string bytes = read(offset, sizeof(T));
    if (bytes.size() < sizeof(T))
        return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

/// The parts of a 64-bit little-endian ELF file that are needed here.
class DynamicReader {
  public:
    explicit DynamicReader(const ReadBytes& read) : read_(read) {}

    std::optional<LibraryLinks> dynamic() {
        const auto head = read_struct<Elf64_Ehdr>(read_, 0);
        if (!head || head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phnum > max_segments)
            return std::nullopt;
        for (unsigned i = 0; i < head->e_phnum; ++i) {
            const auto segment = read_struct<Elf64_Phdr>(read_, head->e_phoff + i * sizeof(Elf64_Phdr));
            if (!segment)
                return std::nullopt;
            segments_.push_back(*segment);
        }
        for (const Elf64_Phdr& segment : segments_)
            if (segment.p_type == PT_DYNAMIC)
                return entries(segment);
        return LibraryLinks{.needed = {}, .search_path = {}, .bits = 64}; // a statically linked program
    }

  private:
    std::optional<std::uint64_t> file_offset(std::uint64_t address) const {
        for (const Elf64_Phdr& segment : segments_)
            if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                address - segment.p_vaddr < segment.p_filesz)
                return segment.p_offset + (address - segment.p_vaddr);
        return std::nullopt;
    }

    std::optional<LibraryLinks> entries(const Elf64_Phdr& segment) const {
        const std::string bytes = read_(
            segment.p_offset, std::min<std::uint64_t>(segment.p_filesz, max_entries * sizeof(Elf64_Dyn)));
        std::vector<std::uint64_t> needed;
        std::optional<std::uint64_t> strings, run_path, old_path;
        for (std::size_t at = 0; at + sizeof(Elf64_Dyn) <= bytes.size(); at += sizeof(Elf64_Dyn)) {
            Elf64_Dyn entry;
            std::memcpy(&entry, bytes.data() + at, sizeof entry);
            if (entry.d_tag == DT_NULL)
                break;
            if (entry.d_tag == DT_NEEDED)
                needed.push_back(entry.d_un.d_val);
            else if (entry.d_tag == DT_STRTAB)
                strings = file_offset(entry.d_un.d_ptr);
            else if (entry.d_tag == DT_RUNPATH)
                run_path = entry.d_un.d_val;
            else if (entry.d_tag == DT_RPATH)
                old_path = entry.d_un.d_val;
        }
        if (!strings)
            return needed.empty() ? std::optional(LibraryLinks{.needed = {}, .search_path = {}, .bits = 64})
                                  : std::nullopt;
        LibraryLinks dynamic;
        dynamic.bits = 64;
        for (const std::uint64_t name : needed)
            dynamic.needed.push_back(text(*strings + name));
        if (run_path || old_path)
            dynamic.search_path = text(*strings + (run_path ? *run_path : *old_path));
        return dynamic;
    }

    std::string text(std::uint64_t offset) const {
        std::string bytes = read_(offset, longest_string);
        bytes.resize(std::min(bytes.find('\0'), bytes.size()));
        return bytes;
    }

    const ReadBytes& read_;
    std::vector<Elf64_Phdr> segments_;
};

} // namespace

std::optional<LibraryLinks> parse_elf_dynamic(const ReadBytes& read) {
    const std::string ident = read(0, EI_NIDENT);
    if (ident.size() < EI_NIDENT || !ident.starts_with(ELFMAG))
        return std::nullopt;
    if (ident[EI_CLASS] == ELFCLASS32)
        // No GPU library for training is 32-bit.
        return LibraryLinks{.needed = {}, .search_path = {}, .bits = 32};
    if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
        return std::nullopt;
    return DynamicReader(read).dynamic();
}

} // namespace rekindle::doctor
