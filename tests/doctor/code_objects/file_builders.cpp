#include "file_builders.h"

#include <zlib.h>
#include <zstd.h>

#include <fstream>
#include <map>
#include <stdexcept>

namespace rekindle::doctor::fixtures {

namespace {

std::string packed_text(const std::string& text) {
    return '\xd9' + little_endian(static_cast<std::uint8_t>(text.size())) + text;
}

std::string packed_size(std::uint32_t value) {
    std::string bytes = little_endian(value);
    return '\xce' + std::string(bytes.rbegin(), bytes.rend());
}

void pad(std::string& text, std::size_t alignment) {
    text.resize((text.size() + alignment - 1) / alignment * alignment, '\0');
}

} // namespace

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string make_elf(const std::vector<SectionSpec>& sections, std::uint16_t machine, std::uint32_t flags,
                     std::uint8_t abi_version) {
    std::string names(1, '\0'), content, table(64, '\0');
    const auto add = [&](const SectionSpec& section) {
        const std::uint64_t name = names.size(), offset = 64 + content.size();
        names += section.name + '\0';
        content += section.content;
        pad(content, 16);
        table += little_endian(static_cast<std::uint32_t>(name)) + little_endian(section.type) +
                 little_endian(std::uint64_t{0}) + little_endian(std::uint64_t{0}) + little_endian(offset) +
                 little_endian<std::uint64_t>(section.content.size()) + little_endian(section.link) +
                 little_endian(std::uint32_t{0}) + little_endian(std::uint64_t{1}) +
                 little_endian(std::uint64_t{0});
    };
    for (const SectionSpec& section : sections)
        add(section);
    SectionSpec last{".shstrtab", {}, 3};
    last.content = names + last.name + '\0';
    add(last);
    const auto count = static_cast<std::uint16_t>(sections.size() + 2);
    std::string header = std::string("\x7f"
                                     "ELF\x02\x01\x01\x40",
                                     8) +
                         static_cast<char>(abi_version) + std::string(7, '\0');
    header += little_endian(std::uint16_t{3}) + little_endian(machine) + little_endian(std::uint32_t{1}) +
              little_endian(std::uint64_t{0}) + little_endian(std::uint64_t{0}) +
              little_endian<std::uint64_t>(64 + content.size()) + little_endian(flags);
    for (const std::uint16_t value : {std::uint16_t{64}, std::uint16_t{0}, std::uint16_t{0},
                                      std::uint16_t{64}, count, static_cast<std::uint16_t>(count - 1)})
        header += little_endian(value);
    return header + content + table;
}

std::string make_library(const std::vector<std::string>& needed, const std::string& soname,
                         const std::string& search_path, std::vector<SectionSpec> sections) {
    std::string names(1, '\0'), table;
    const auto add = [&](std::uint64_t tag, const std::string& text) {
        table += little_endian(tag) + little_endian<std::uint64_t>(names.size());
        names += text + '\0';
    };
    for (const std::string& name : needed)
        add(1, name);
    if (!soname.empty())
        add(14, soname);
    if (!search_path.empty())
        add(29, search_path);
    table += std::string(16, '\0');
    sections.insert(sections.begin(), {{".dynstr", names, 3}, {".dynamic", table, 6, 1}});
    return make_elf(sections);
}

std::string make_code_object(std::uint32_t flags, std::size_t size) {
    std::string object = make_elf({}, 224, flags, 3);
    if (object.size() < size)
        object.resize(size, '\x42');
    return object;
}

std::string make_bundle(const BundleContent& entries, std::size_t alignment) {
    std::string header = "__CLANG_OFFLOAD_BUNDLE__" + little_endian<std::uint64_t>(entries.size());
    std::size_t header_size = header.size();
    for (const auto& [id, content] : entries)
        header_size += 24 + id.size();
    std::string content(header_size, '\0');
    for (const auto& [id, code] : entries) {
        pad(content, code.empty() ? 1 : alignment);
        header += little_endian<std::uint64_t>(code.empty() ? header_size : content.size()) +
                  little_endian<std::uint64_t>(code.size()) + little_endian<std::uint64_t>(id.size()) + id;
        content += code;
    }
    return header + content.substr(header_size);
}

std::uint32_t flags_of(const std::string& target) {
    static const std::map<std::string, std::uint32_t> flags{
        {"gfx900:xnack-", 0x22c},  {"gfx1030", 0x36}, {"gfx1100", 0x41}, {"gfx90a:sramecc+:xnack-", 0xe3f},
        {"gfx10-3-generic", 0x53}, {"gfx908", 0x530}, {"gfx1201", 0x4e}, {"gfx906", 0x52f},
    };
    return flags.at(target);
}

std::string make_hip_bundle(const std::vector<std::string>& targets, std::size_t alignment) {
    BundleContent entries{{"host-x86_64-unknown-linux-gnu-", ""}};
    for (const std::string& target : targets)
        entries.emplace_back("hipv4-amdgcn-amd-amdhsa--" + target, make_code_object(flags_of(target), 300));
    return make_bundle(entries, alignment);
}

std::string zstd_compressed(const std::string& text) {
    std::string result(ZSTD_compressBound(text.size()), '\0');
    result.resize(ZSTD_compress(result.data(), result.size(), text.data(), text.size(), 3));
    return result;
}

std::string zlib_compressed(const std::string& text) {
    uLongf size = compressBound(text.size());
    std::string result(size, '\0');
    if (compress2(reinterpret_cast<Bytef*>(result.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                  text.size(), 6) != Z_OK)
        throw std::runtime_error("zlib failed");
    result.resize(size);
    return result;
}

std::string make_compressed_bundle(const std::string& bundle, int version, bool zlib) {
    const std::string stream = zlib ? zlib_compressed(bundle) : zstd_compressed(bundle);
    std::string header = "CCOB" + little_endian(static_cast<std::uint16_t>(version)) +
                         little_endian(static_cast<std::uint16_t>(zlib ? 0 : 1));
    if (version == 2)
        header += little_endian(static_cast<std::uint32_t>(24 + stream.size())) +
                  little_endian(static_cast<std::uint32_t>(bundle.size()));
    else
        header +=
            little_endian<std::uint64_t>(32 + stream.size()) + little_endian<std::uint64_t>(bundle.size());
    return header + little_endian(std::uint64_t{0x0123456789abcdef}) + stream;
}

std::string make_cuda_region(const std::vector<FatbinEntrySpec>& entries) {
    std::string content;
    for (const FatbinEntrySpec& entry : entries) {
        content += little_endian(entry.kind) + little_endian(std::uint16_t{0x101}) +
                   little_endian(std::uint32_t{64}) + little_endian<std::uint64_t>(entry.content.size()) +
                   std::string(12, '\0') + little_endian(entry.architecture) + std::string(32, '\0') +
                   entry.content;
    }
    return little_endian(std::uint32_t{0xba55ed50}) + little_endian(std::uint16_t{1}) +
           little_endian(std::uint16_t{16}) + little_endian<std::uint64_t>(content.size()) + content;
}

std::string make_kpack(const PackSpec& pack) {
    std::string code(48, '\0'), blobs, libraries;
    std::uint32_t ordinal = 0;
    for (const auto& [library, targets] : pack.libraries) {
        libraries += packed_text(library) + static_cast<char>(0x80 | targets.size());
        for (const auto& [target, kernels] : targets) {
            blobs += '\x82' + packed_text("offset") +
                     packed_size(static_cast<std::uint32_t>(16 + code.size())) + packed_text("size") +
                     packed_size(static_cast<std::uint32_t>(kernels.size()));
            libraries += packed_text(target) + '\x83' + packed_text("type") + packed_text("hsaco") +
                         packed_text("ordinal") + packed_size(ordinal++) + packed_text("original_size") +
                         packed_size(static_cast<std::uint32_t>(kernels.size()));
            code += kernels;
        }
    }
    std::string table = '\x85' + packed_text("format_version") + '\x01' + packed_text("group_name") +
                        packed_text("blas") + packed_text("gfx_arches") +
                        static_cast<char>(0x90 | pack.targets.size());
    for (const std::string& target : pack.targets)
        table += packed_text(target);
    table += packed_text("toc") + static_cast<char>(0x80 | pack.libraries.size()) + libraries +
             packed_text("blobs") + static_cast<char>(0x90 | ordinal) + blobs;
    return "KPAK" + little_endian(std::uint32_t{1}) + little_endian<std::uint64_t>(16 + code.size()) + code +
           table;
}

std::string make_kpack_reference(const std::string& library, const std::vector<std::string>& patterns) {
    std::string text = '\x82' + packed_text("kernel_name") + packed_text(library) +
                       packed_text("kpack_search_paths") + static_cast<char>(0x90 | patterns.size());
    for (const std::string& pattern : patterns)
        text += packed_text(pattern);
    return text;
}

std::filesystem::path ScratchFolder::add(const std::string& relative, const std::string& content) const {
    const std::filesystem::path file = path() / relative;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file;
}

void ScratchFolder::link(const std::string& relative, const std::string& target) const {
    const std::filesystem::path file = path() / relative;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::create_symlink(target, file);
}

} // namespace rekindle::doctor::fixtures
