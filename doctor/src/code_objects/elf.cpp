#include "code_objects/elf.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

constexpr std::uint64_t max_sections = 65'536;
constexpr std::uint64_t max_dynamic_entries = 10'000;
constexpr std::size_t longest_name = 4096;
constexpr std::uint32_t section_type_dynamic = 6;
constexpr std::uint32_t section_type_without_bytes = 8;
constexpr std::uint64_t tag_end = 0, tag_needed = 1, tag_soname = 14, tag_rpath = 15, tag_runpath = 29;

struct RawHeader {
    unsigned char ident[16];
    std::uint16_t type, machine;
    std::uint32_t version;
    std::uint64_t entry, program_table, section_table;
    std::uint32_t flags;
    std::uint16_t header_size, program_entry_size, program_count;
    std::uint16_t section_entry_size, section_count, section_names;
};
static_assert(sizeof(RawHeader) == 64);

struct RawSection {
    std::uint32_t name, type;
    std::uint64_t flags, address, offset, size;
    std::uint32_t link, info;
    std::uint64_t alignment, entry_size;
};
static_assert(sizeof(RawSection) == 64);

struct RawDynamic {
    std::uint64_t tag, value;
};

std::string name_at(const ByteSource& source, ByteRange names, std::uint64_t index) {
    if (index >= names.size())
        return {};
    const auto size = std::min<std::uint64_t>(longest_name, names.size() - index);
    std::string text = read_text(source, names.begin + index, 256);
    if (text.find('\0') == std::string::npos && size > text.size())
        text = read_text(source, names.begin + index, size);
    text.resize(std::min<std::size_t>(text.size(), size));
    return text.substr(0, text.find('\0'));
}

} // namespace

ByteRange ElfSection::range(const ByteSource& source) const noexcept {
    if (type == section_type_without_bytes || offset >= source.size())
        return {};
    return {offset, offset + std::min(size, source.size() - offset)};
}

std::optional<ElfHeader> read_elf_header(const ByteSource& source, std::uint64_t offset) {
    const auto raw = read_value<RawHeader>(source, offset);
    if (!raw || std::string_view(reinterpret_cast<const char*>(raw->ident), 6) != "\x7f"
                                                                                  "ELF\x02\x01")
        return std::nullopt;
    return ElfHeader{raw->ident[8],           raw->machine,       raw->flags,        raw->section_table,
                     raw->section_entry_size, raw->section_count, raw->section_names};
}

std::vector<ElfSection> read_elf_sections(const ByteSource& source, const ElfHeader& header) {
    if (header.section_table == 0)
        return {};
    const auto first = read_value<RawSection>(source, header.section_table);
    if (!first || header.section_entry_size != sizeof(RawSection))
        throw usage_error("the ELF file's section table lies outside the file")
            .at(fmt::format("byte {}", header.section_table));
    // More than 65,279 sections: the real count and index are in the first entry.
    const std::uint64_t count = header.section_count != 0 ? header.section_count : first->size;
    const std::uint64_t names_index = header.section_names != 0xffff ? header.section_names : first->link;
    if (count > max_sections || count > (source.size() - header.section_table) / sizeof(RawSection))
        throw usage_error(fmt::format("the ELF file claims {} sections, more than fit in it", count))
            .at(fmt::format("byte {}", header.section_table));
    std::vector<ElfSection> sections;
    std::vector<std::uint32_t> name_offsets;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto raw = read_value<RawSection>(source, header.section_table + i * sizeof(RawSection));
        if (!raw)
            break;
        sections.push_back({{}, raw->type, raw->address, raw->offset, raw->size, raw->link});
        name_offsets.push_back(raw->name);
    }
    if (names_index < sections.size()) {
        const ByteRange names = sections[names_index].range(source);
        for (std::size_t i = 0; i < sections.size(); ++i)
            sections[i].name = name_at(source, names, name_offsets[i]);
    }
    return sections;
}

ElfDynamic read_elf_dynamic(const ByteSource& source, const std::vector<ElfSection>& sections) {
    ElfDynamic dynamic;
    const auto section = std::ranges::find(sections, section_type_dynamic, &ElfSection::type);
    if (section == sections.end() || section->link >= sections.size())
        return dynamic;
    const ByteRange table = section->range(source);
    const ByteRange names = sections[section->link].range(source);
    for (std::uint64_t i = 0; i < std::min(max_dynamic_entries, table.size() / sizeof(RawDynamic)); ++i) {
        const auto entry = read_value<RawDynamic>(source, table.begin + i * sizeof(RawDynamic));
        if (!entry || entry->tag == tag_end)
            break;
        if (entry->tag != tag_needed && entry->tag != tag_soname && entry->tag != tag_rpath &&
            entry->tag != tag_runpath)
            continue;
        const std::string text = name_at(source, names, entry->value);
        if (text.empty())
            continue;
        if (entry->tag == tag_needed)
            dynamic.needed.push_back(text);
        else if (entry->tag == tag_soname)
            dynamic.soname = text;
        else
            for (const std::string_view path : split(text, ':'))
                dynamic.search_paths.emplace_back(path);
    }
    return dynamic;
}

} // namespace rekindle::doctor
