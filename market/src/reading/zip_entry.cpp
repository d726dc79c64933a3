#include "reading/zip_entry.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace rekindle::market::reading {

namespace {

/// An entry of the directory at the end of the archive.
struct DirectoryEntry {
    std::string name;
    unsigned flags = 0, method = 0;
    std::uint32_t checksum = 0, stored_size = 0, offset = 0;
};

class ZipReader {
  public:
    ZipReader(const std::filesystem::path& path, std::string_view archive) : path_(path), archive_(archive) {}

    std::vector<DirectoryEntry> directory() const {
        constexpr std::size_t end_size = 22;
        const std::size_t end = archive_.rfind("PK\x05\x06");
        if (end == std::string_view::npos || archive_.size() - end < end_size)
            throw damaged("it does not end with its directory, as if it were cut off");
        std::size_t position = number(end + 16, 4);
        std::vector<DirectoryEntry> entries;
        for (std::size_t left = number(end + 10, 2); left > 0; --left) {
            constexpr std::size_t header = 46;
            if (bytes(position, header).substr(0, 4) != "PK\x01\x02")
                throw damaged("its directory is wrong");
            const std::size_t name = number(position + 28, 2);
            entries.push_back({std::string(bytes(position + header, name)),
                               static_cast<unsigned>(number(position + 8, 2)),
                               static_cast<unsigned>(number(position + 10, 2)), number(position + 16, 4),
                               number(position + 20, 4), number(position + 42, 4)});
            position += header + name + number(position + 30, 2) + number(position + 32, 2);
        }
        return entries;
    }

    ZipEntry open(const DirectoryEntry& entry) const {
        constexpr unsigned encrypted = 1, stored = 0, deflated = 8;
        if ((entry.flags & encrypted) != 0)
            throw error(fmt::format("{} is encrypted", entry.name));
        if (entry.method != stored && entry.method != deflated)
            throw error(
                fmt::format("{} is compressed by method {}, which is not read", entry.name, entry.method));
        if (entry.stored_size == UINT32_MAX || entry.offset == UINT32_MAX)
            throw error(fmt::format("{} is larger than 4 GiB", entry.name));
        constexpr std::size_t header = 30;
        if (bytes(entry.offset, header).substr(0, 4) != "PK\x03\x04")
            throw damaged("its directory is wrong");
        const std::size_t begin =
            entry.offset + header + number(entry.offset + 26, 2) + number(entry.offset + 28, 2);
        return {entry.name, bytes(begin, entry.stored_size), entry.method == deflated, entry.checksum};
    }

    Error error(std::string what) const {
        return usage_error("the zip archive cannot be read: " + std::move(what))
            .at(path_.string())
            .expected("one file of bars, not encrypted, compressed with deflate")
            .hint("Extract it first.");
    }

  private:
    Error damaged(std::string_view what) const {
        return usage_error(fmt::format("the zip archive is damaged: {}", what))
            .at(path_.string())
            .expected("a complete file")
            .hint("Copy or download the file again.");
    }
    std::string_view bytes(std::size_t begin, std::size_t count) const {
        if (begin > archive_.size() || count > archive_.size() - begin)
            throw damaged("it ends early");
        return archive_.substr(begin, count);
    }
    std::uint32_t number(std::size_t begin, std::size_t count) const {
        std::uint32_t value = 0;
        std::memcpy(&value, bytes(begin, count).data(), count);
        return value;
    }

    const std::filesystem::path& path_;
    std::string_view archive_;
};

bool is_text_file(const DirectoryEntry& entry) {
    const std::string name = lower_case(entry.name);
    return name.ends_with(".csv") || name.ends_with(".txt");
}

} // namespace

ZipEntry find_entry_of_bars(const std::filesystem::path& path, std::string_view archive) {
    const ZipReader reader(path, archive);
    std::vector<DirectoryEntry> entries = reader.directory();
    std::erase_if(entries, [](const DirectoryEntry& entry) {
        return entry.name.ends_with('/') || entry.name.starts_with("__MACOSX/");
    });
    if (entries.size() > 1 && std::ranges::any_of(entries, is_text_file))
        std::erase_if(entries, [](const DirectoryEntry& entry) { return !is_text_file(entry); });
    if (entries.size() == 1)
        return reader.open(entries.front());
    std::vector<std::string> names;
    constexpr std::size_t most_named = 5;
    for (std::size_t i = 0; i < std::min(entries.size(), most_named); ++i)
        names.push_back(entries[i].name);
    throw reader.error(entries.empty()
                           ? "it contains no files"
                           : fmt::format("it contains {}: {}{}", counted(entries.size(), "file"),
                                         fmt::join(names, ", "), entries.size() > most_named ? " …" : ""));
}

} // namespace rekindle::market::reading
