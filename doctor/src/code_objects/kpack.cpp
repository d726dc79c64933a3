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

bool read_code(MsgpackReader& reader, PackedCode code, Table& table) {
    const auto fields = reader.read_map();
    if (!fields)
        return false;
    for (std::uint64_t i = 0; i < *fields; ++i) {
        const auto key = reader.read_text();
        if (key == "ordinal")
            code.ordinal = reader.read_unsigned();
        else if (key == "original_size")
            code.original_size = reader.read_unsigned();
        else if (!key || !reader.skip())
            return false;
        if ((key == "ordinal" && !code.ordinal) || (key == "original_size" && !code.original_size))
            return false;
    }
    table.code.push_back(std::move(code));
    return true;
}

bool read_libraries(MsgpackReader& reader, Table& table) {
    const auto libraries = reader.read_map();
    if (!libraries)
        return false;
    for (std::uint64_t i = 0; i < *libraries; ++i) {
        const auto library = reader.read_text();
        const auto targets = library ? reader.read_map() : std::nullopt;
        if (!targets)
            return false;
        for (std::uint64_t k = 0; k < *targets; ++k) {
            const auto target = reader.read_text();
            if (!target || !read_code(reader, {std::string(*library), std::string(*target), {}, {}}, table))
                return false;
        }
    }
    return true;
}

bool read_blobs(MsgpackReader& reader, Table& table) {
    const auto blobs = reader.read_array();
    if (!blobs)
        return false;
    for (std::uint64_t i = 0; i < *blobs; ++i) {
        const auto fields = reader.read_map();
        if (!fields)
            return false;
        std::optional<std::uint64_t> offset, size;
        for (std::uint64_t k = 0; k < *fields; ++k) {
            const auto key = reader.read_text();
            if (key == "offset")
                offset = reader.read_unsigned();
            else if (key == "size")
                size = reader.read_unsigned();
            else if (!key || !reader.skip())
                return false;
        }
        if (!offset || !size || *size > UINT64_MAX - *offset)
            return false;
        table.blobs.push_back({*offset, *offset + *size});
    }
    return true;
}

bool read_texts(MsgpackReader& reader, std::vector<std::string>& texts) {
    const auto count = reader.read_array();
    if (!count)
        return false;
    for (std::uint64_t i = 0; i < *count; ++i) {
        const auto text = reader.read_text();
        if (!text)
            return false;
        texts.emplace_back(*text);
    }
    return true;
}

std::optional<Table> read_table(std::string_view bytes) {
    MsgpackReader reader(bytes);
    Table table;
    const auto fields = reader.read_map();
    for (std::uint64_t i = 0; fields && i < *fields; ++i) {
        const auto key = reader.read_text();
        if (!key)
            return std::nullopt;
        bool good = true;
        if (*key == "gfx_arches")
            good = read_texts(reader, table.targets);
        else if (*key == "toc")
            good = read_libraries(reader, table);
        else if (*key == "blobs")
            good = read_blobs(reader, table);
        else if (*key == "zstd_offset")
            good = (table.zstd_offset = reader.read_unsigned()).has_value();
        else if (*key == "zstd_size")
            good = (table.zstd_size = reader.read_unsigned()).has_value();
        else
            good = reader.skip();
        if (!good)
            return std::nullopt;
    }
    return fields ? std::optional(std::move(table)) : std::nullopt;
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
