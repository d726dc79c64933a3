#include "code_objects/kpack.h"

#include "code_objects/msgpack.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>

namespace rekindle::doctor {

namespace {

constexpr std::uint32_t known_version = 1;
constexpr std::uint64_t longest_table = 32 << 20;
constexpr std::size_t max_packs = 256;
constexpr std::string_view target_placeholder = "@GFXARCH@";

struct Header {
    char magic[4];
    std::uint32_t version;
    std::uint64_t table_offset;
};
static_assert(sizeof(Header) == 16);

Error damaged_table() {
    return usage_error("the kernel pack's table of contents is damaged");
}

struct PackedCode {
    std::string library, target;
    std::optional<std::uint64_t> ordinal, original_size;
};

/// The table of contents: a map whose keys may be in any order.
struct Table {
    std::vector<std::string> targets;
    std::vector<PackedCode> code;
    std::vector<ByteRange> blobs; ///< by ordinal
    std::optional<std::uint64_t> zstd_offset, zstd_size;
};

/// Reads a map: calls `read_value` with each key to read its value. Returns false if the map, a key or a
/// value cannot be read.
template <class ReadValue>
bool read_map(MsgpackReader& reader, const ReadValue& read_value) {
    const auto fields = reader.read_map();
    for (std::uint64_t i = 0; fields && i < *fields; ++i) {
        const auto key = reader.read_text();
        if (!key || !read_value(*key))
            return false;
    }
    return fields.has_value();
}

/// Reads an array: calls `read_item` to read each item. Returns false if the array or an item cannot be read.
template <class ReadItem>
bool read_array(MsgpackReader& reader, const ReadItem& read_item) {
    const auto count = reader.read_array();
    for (std::uint64_t i = 0; count && i < *count; ++i)
        if (!read_item())
            return false;
    return count.has_value();
}

bool read_number(MsgpackReader& reader, std::optional<std::uint64_t>& number) {
    number = reader.read_unsigned();
    return number.has_value();
}

bool read_code(MsgpackReader& reader, PackedCode code, Table& table) {
    const bool is_read = read_map(reader, [&](std::string_view key) {
        if (key == "ordinal")
            return read_number(reader, code.ordinal);
        if (key == "original_size")
            return read_number(reader, code.original_size);
        return reader.skip();
    });
    if (is_read)
        table.code.push_back(std::move(code));
    return is_read;
}

bool read_libraries(MsgpackReader& reader, Table& table) {
    return read_map(reader, [&](std::string_view library) {
        return read_map(reader, [&](std::string_view target) {
            return read_code(reader, {std::string(library), std::string(target), {}, {}}, table);
        });
    });
}

bool read_blob(MsgpackReader& reader, Table& table) {
    std::optional<std::uint64_t> offset, size;
    const bool is_read = read_map(reader, [&](std::string_view key) {
        if (key == "offset")
            return read_number(reader, offset);
        if (key == "size")
            return read_number(reader, size);
        return reader.skip();
    });
    if (!is_read || !offset || !size || *size > UINT64_MAX - *offset)
        return false;
    table.blobs.push_back({*offset, *offset + *size});
    return true;
}

bool read_texts(MsgpackReader& reader, std::vector<std::string>& texts) {
    return read_array(reader, [&] {
        const auto text = reader.read_text();
        if (text)
            texts.emplace_back(*text);
        return text.has_value();
    });
}

std::optional<Table> read_table(std::string_view bytes) {
    MsgpackReader reader(bytes);
    Table table;
    const bool is_read = read_map(reader, [&](std::string_view key) {
        if (key == "gfx_arches")
            return read_texts(reader, table.targets);
        if (key == "toc")
            return read_libraries(reader, table);
        if (key == "blobs")
            return read_array(reader, [&] { return read_blob(reader, table); });
        if (key == "zstd_offset")
            return read_number(reader, table.zstd_offset);
        if (key == "zstd_size")
            return read_number(reader, table.zstd_size);
        return reader.skip();
    });
    return is_read ? std::optional(std::move(table)) : std::nullopt;
}

/// Files that match a pattern with at most one placeholder, in its last part.
std::vector<std::filesystem::path> matching_packs(const std::filesystem::path& folder,
                                                  const std::string& pattern) {
    const std::filesystem::path path = (folder / pattern).lexically_normal();
    const std::string name = path.filename().string();
    const std::size_t at = name.find(target_placeholder);
    std::error_code error;
    if (at == std::string::npos)
        return std::filesystem::is_regular_file(path, error) ? std::vector{path}
                                                             : std::vector<std::filesystem::path>{};
    const std::string before = name.substr(0, at), after = name.substr(at + target_placeholder.size());
    std::vector<std::filesystem::path> packs;
    for (std::filesystem::directory_iterator file(path.parent_path(), error), end;
         !error && file != end && packs.size() < max_packs; file.increment(error)) {
        const std::string candidate = file->path().filename().string();
        if (candidate.size() > before.size() + after.size() && candidate.starts_with(before) &&
            candidate.ends_with(after))
            packs.push_back(file->path());
    }
    std::ranges::sort(packs);
    return packs;
}

} // namespace

Expected<Kpack> read_kpack(const ByteSource& source) {
    const auto header = read_value<Header>(source, 0);
    if (!header || std::string_view(header->magic, 4) != kpack_magic)
        return usage_error("not a kernel pack");
    if (header->version != known_version)
        return usage_error(fmt::format("a kernel pack of version {}; only version {} can be read",
                                       header->version, known_version));
    if (header->table_offset < sizeof(Header) || header->table_offset >= source.size())
        return usage_error(
            "the kernel pack is cut off: its table of contents lies beyond the end of the file");
    if (source.size() - header->table_offset > longest_table)
        return usage_error("the kernel pack's table of contents is too long");
    const std::string bytes = read_text(source, header->table_offset, longest_table);
    const std::optional<Table> table = read_table(bytes);
    if (!table)
        return damaged_table();
    Kpack pack;
    pack.targets = table->targets;
    if (table->zstd_offset && table->zstd_size) {
        if (*table->zstd_offset > header->table_offset ||
            *table->zstd_size > header->table_offset - *table->zstd_offset)
            pack.damage = "the kernel pack's table claims more code than the file has";
        else
            pack.stored_bytes = *table->zstd_size;
    }
    for (const ByteRange& blob : table->blobs) {
        if (blob.end > header->table_offset)
            pack.damage = "the kernel pack's table claims more code than the file has";
        else
            pack.stored_bytes += blob.size();
    }
    for (const PackedCode& code : table->code) {
        std::uint64_t size = code.original_size.value_or(0);
        if (code.ordinal && *code.ordinal < table->blobs.size()) {
            const ByteRange blob = table->blobs[*code.ordinal];
            size = blob.end > header->table_offset ? 0 : blob.size();
        }
        std::uint64_t& sum = pack.libraries[code.library][code.target];
        sum += std::min(size, UINT64_MAX - sum);
    }
    return pack;
}

Expected<KpackReference> read_kpack_reference(const ByteSource& source, ByteRange section) {
    const std::string bytes =
        read_text(source, section.begin, std::min<std::uint64_t>(section.size(), 1 << 20));
    MsgpackReader reader(bytes);
    KpackReference reference;
    const auto fields = reader.read_map();
    bool good = fields.has_value();
    for (std::uint64_t i = 0; good && i < *fields; ++i) {
        const auto key = reader.read_text();
        if (key == "kernel_name") {
            const auto name = reader.read_text();
            good = name.has_value();
            reference.library = name.value_or("");
        } else if (key == "kpack_search_paths") {
            good = read_texts(reader, reference.patterns);
        } else {
            good = key && reader.skip();
        }
    }
    if (!good || reference.patterns.empty())
        return usage_error("the section .rocm_kpack_ref is damaged");
    return reference;
}

void read_referenced_kpacks(const KpackReference& reference, const std::filesystem::path& folder,
                            TargetCollector& found) {
    std::size_t packs = 0, packs_with_library = 0;
    for (const std::string& pattern : reference.patterns) {
        for (const std::filesystem::path& path : matching_packs(folder, pattern)) {
            if (++packs > max_packs)
                return found.note("too many kernel packs; the rest was not read");
            try {
                const Expected<Kpack> pack = read_kpack(FileSource(path));
                if (!pack || !pack->damage.empty())
                    found.note(fmt::format("{}: {}", path.filename().string(),
                                           pack ? pack->damage : pack.error().message()));
                if (!pack)
                    continue;
                const auto library = pack->libraries.find(reference.library);
                if (library == pack->libraries.end())
                    continue;
                ++packs_with_library;
                for (const auto& [target, bytes] : library->second)
                    found.add(target, bytes);
            } catch (const Error& error) {
                found.note(error.render());
            }
        }
    }
    if (packs == 0)
        found.note(fmt::format("its code is in kernel packs, but there is none at {}",
                               fmt::join(reference.patterns, ", ")));
    else if (packs_with_library == 0)
        found.note(
            fmt::format("no code for it ({}) in {}", reference.library, counted(packs, "kernel pack")));
}

} // namespace rekindle::doctor
