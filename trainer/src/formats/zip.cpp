#include "zip.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace rekindle::trainer {

namespace {

constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::uint32_t directory_signature = 0x02014b50;
constexpr std::uint32_t end_signature = 0x06054b50;
constexpr std::uint32_t zip64_end_signature = 0x06064b50;
constexpr std::uint32_t zip64_locator_signature = 0x07064b50;
constexpr std::size_t local_size = 30, directory_size = 46, end_size = 22, zip64_end_size = 56,
                      locator_size = 20;
constexpr std::size_t max_comment = 65535;
constexpr std::uint16_t zip64_extra = 0x0001;
constexpr std::uint16_t padding_extra = 0x4246; // "FB", the tag by which PyTorch pads
constexpr std::size_t entry_alignment = 64;
constexpr std::uint32_t no_value32 = 0xffffffffU;
constexpr std::uint16_t encrypted_flag = 0x0001, utf8_flag = 0x0800;

std::uint64_t little_endian(std::string_view bytes, std::size_t offset, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
        value |= std::uint64_t{static_cast<unsigned char>(bytes[offset + i])} << (8 * i);
    return value;
}
std::uint32_t u32(std::string_view bytes, std::size_t offset) {
    return static_cast<std::uint32_t>(little_endian(bytes, offset, 4));
}
std::uint16_t u16(std::string_view bytes, std::size_t offset) {
    return static_cast<std::uint16_t>(little_endian(bytes, offset, 2));
}

void put(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
        out.push_back(static_cast<char>((value >> (8 * i)) & 0xffU));
}

std::uint32_t crc_of(std::string_view content) {
    return static_cast<std::uint32_t>(
        ::crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

/// Replaces the 32-bit fields that are all ones with those of the zip64 extra field.
bool apply_zip64(ZipEntry& entry, std::string_view extra) {
    while (extra.size() >= 4) {
        const std::size_t length = u16(extra, 2);
        if (length > extra.size() - 4)
            return false;
        if (u16(extra, 0) == zip64_extra) {
            std::string_view fields = extra.substr(4, length);
            for (std::uint64_t* field : {&entry.size, &entry.stored_size, &entry.header_offset}) {
                if (*field != no_value32)
                    continue;
                if (fields.size() < 8)
                    return false;
                *field = little_endian(fields, 0, 8);
                fields.remove_prefix(8);
            }
        }
        extra.remove_prefix(4 + length);
    }
    return true;
}

} // namespace

void ZipReader::fail(const std::string& what, std::uint64_t offset) const {
    throw usage_error(what).at(fmt::format("{}: byte {}", name_, offset)).expected("a valid zip archive");
}

ZipReader::ZipReader(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {
    if (bytes_.size() < end_size)
        fail("the file is too short for a zip archive", bytes_.size());
    const std::size_t first = bytes_.size() - std::min(bytes_.size(), end_size + max_comment);
    std::size_t end = bytes_.size() - end_size + 1;
    do {
        if (end == first)
            fail("the directory at the end of the archive is missing (the file may be truncated)",
                 bytes_.size());
        --end;
    } while (u32(bytes_, end) != end_signature || end + end_size + u16(bytes_, end + 20) != bytes_.size());

    std::uint64_t count = u16(bytes_, end + 10);
    std::uint64_t size = u32(bytes_, end + 12);
    std::uint64_t offset = u32(bytes_, end + 16);
    const bool has_locator =
        end >= locator_size && u32(bytes_, end - locator_size) == zip64_locator_signature;
    if (has_locator && (count == 0xffff || size == no_value32 || offset == no_value32)) {
        const std::uint64_t zip64 = little_endian(bytes_, end - locator_size + 8, 8);
        if (bytes_.size() < zip64_end_size || zip64 > bytes_.size() - zip64_end_size ||
            u32(bytes_, static_cast<std::size_t>(zip64)) != zip64_end_signature)
            fail("the zip64 directory is not where the archive says", end - locator_size);
        count = little_endian(bytes_, static_cast<std::size_t>(zip64) + 32, 8);
        size = little_endian(bytes_, static_cast<std::size_t>(zip64) + 40, 8);
        offset = little_endian(bytes_, static_cast<std::size_t>(zip64) + 48, 8);
    }
    if (offset > bytes_.size() || size > bytes_.size() - offset)
        fail("the directory of the archive is outside the file", end);
    read_directory(offset, size, count);
}

void ZipReader::read_directory(std::uint64_t offset, std::uint64_t size, std::uint64_t count) {
    if (count > size / directory_size)
        fail(fmt::format("the archive announces {} in a directory of {}", counted(count, "entry", "entries"),
                         counted(size, "byte")),
             offset);
    entries_.reserve(static_cast<std::size_t>(count));
    std::size_t at = static_cast<std::size_t>(offset);
    const std::size_t end = static_cast<std::size_t>(offset + size);
    for (std::uint64_t i = 0; i < count; ++i) {
        if (end - at < directory_size || u32(bytes_, at) != directory_signature)
            fail("an entry of the directory is damaged", at);
        const std::size_t name_size = u16(bytes_, at + 28), extra_size = u16(bytes_, at + 30);
        const std::size_t length = directory_size + name_size + extra_size + u16(bytes_, at + 32);
        if (length > end - at)
            fail("an entry of the directory reaches beyond its end", at);
        ZipEntry entry;
        entry.name = bytes_.substr(at + directory_size, name_size);
        const std::uint16_t method = u16(bytes_, at + 10);
        if ((u16(bytes_, at + 8) & encrypted_flag) != 0 || (method != 0 && method != Z_DEFLATED))
            fail(fmt::format("entry '{}' is encrypted or compressed by method {}", entry.name, method), at);
        entry.deflated = method == Z_DEFLATED;
        entry.crc = u32(bytes_, at + 16);
        entry.stored_size = u32(bytes_, at + 20);
        entry.size = u32(bytes_, at + 24);
        entry.header_offset = u32(bytes_, at + 42);
        if (!apply_zip64(entry, bytes_.substr(at + directory_size + name_size, extra_size)))
            fail(fmt::format("the extra field of entry '{}' is damaged", entry.name), at);
        if (!entry.deflated && entry.size != entry.stored_size)
            fail(fmt::format("entry '{}' is stored but has two sizes", entry.name), at);
        entries_.push_back(std::move(entry));
        at += length;
    }
}

const ZipEntry* ZipReader::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(entries_, name, &ZipEntry::name);
    return found == entries_.end() ? nullptr : &*found;
}

std::string_view ZipReader::raw(const ZipEntry& entry) const {
    if (entry.header_offset > bytes_.size() || bytes_.size() - entry.header_offset < local_size)
        fail(fmt::format("entry '{}' is outside the file", entry.name), entry.header_offset);
    const auto at = static_cast<std::size_t>(entry.header_offset);
    if (u32(bytes_, at) != local_signature)
        fail(fmt::format("the header of entry '{}' is missing", entry.name), at);
    const std::size_t data = at + local_size + u16(bytes_, at + 26) + u16(bytes_, at + 28);
    if (data > bytes_.size() || entry.stored_size > bytes_.size() - data)
        fail(fmt::format("entry '{}' reaches beyond the end of the file", entry.name), at);
    return bytes_.substr(data, static_cast<std::size_t>(entry.stored_size));
}

std::string_view ZipReader::content(const ZipEntry& entry, std::string& storage, std::uint64_t limit) const {
    std::string_view data = raw(entry);
    if (entry.size > limit)
        fail(fmt::format("entry '{}' has {}; at most {} are read", entry.name, counted(entry.size, "byte"),
                         limit),
             entry.header_offset);
    if (entry.deflated) {
        // Deflate cannot shrink below 1/1032: a larger size is wrong, and is caught before memory is
        // allocated.
        if (entry.size / 1040 > entry.stored_size)
            fail(fmt::format("entry '{}' announces an impossible size", entry.name), entry.header_offset);
        storage.resize(static_cast<std::size_t>(entry.size));
        z_stream stream{};
        if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK)
            throw Error("zlib is out of memory").at(name_);
        const std::unique_ptr<z_stream, decltype(&::inflateEnd)> guard(&stream, &::inflateEnd);
        stream.next_in =
            reinterpret_cast<Bytef*>(const_cast<char*>(data.data())); // NOLINT: zlib's old interface
        stream.next_out = reinterpret_cast<Bytef*>(storage.data());
        std::size_t in_left = data.size(), out_left = storage.size();
        int status = Z_OK;
        while (status == Z_OK) {
            constexpr std::size_t most = std::numeric_limits<uInt>::max();
            const auto in_now = static_cast<uInt>(std::min(in_left, most));
            const auto out_now = static_cast<uInt>(std::min(out_left, most));
            stream.avail_in = in_now;
            stream.avail_out = out_now;
            status = ::inflate(&stream, Z_NO_FLUSH);
            in_left -= in_now - stream.avail_in;
            out_left -= out_now - stream.avail_out;
        }
        if (status != Z_STREAM_END || out_left != 0)
            fail(fmt::format("entry '{}' cannot be decompressed", entry.name), entry.header_offset);
        data = storage;
    }
    if (crc_of(data) != entry.crc)
        fail(fmt::format("the checksum of entry '{}' is wrong: the file is damaged", entry.name),
             entry.header_offset);
    return data;
}

void ZipWriter::add(std::string_view name, std::string_view content) {
    ZipEntry entry;
    entry.name = name;
    entry.crc = crc_of(content);
    entry.size = entry.stored_size = content.size();
    entry.header_offset = archive_.size();
    const bool large = content.size() >= no_value32;
    std::string extra;
    if (large) {
        put(extra, zip64_extra, 2);
        put(extra, 16, 2);
        put(extra, content.size(), 8);
        put(extra, content.size(), 8);
    }
    const std::size_t unpadded = archive_.size() + local_size + name.size() + extra.size() + 4;
    const std::size_t padding = (entry_alignment - unpadded % entry_alignment) % entry_alignment;
    put(extra, padding_extra, 2);
    put(extra, padding, 2);
    extra.append(padding, 'Z');

    put(archive_, local_signature, 4);
    put(archive_, large ? 45 : 20, 2);
    put(archive_, utf8_flag, 2);
    put(archive_, 0, 2);      // stored
    put(archive_, 0, 2);      // time: none, so that equal content gives equal bytes
    put(archive_, 0x0021, 2); // date: 1980-01-01, the format's first day
    put(archive_, entry.crc, 4);
    put(archive_, large ? no_value32 : content.size(), 4);
    put(archive_, large ? no_value32 : content.size(), 4);
    put(archive_, name.size(), 2);
    put(archive_, extra.size(), 2);
    archive_ += name;
    archive_ += extra;
    archive_ += content;
    entries_.push_back(std::move(entry));
}

std::string ZipWriter::finish() {
    const std::uint64_t directory = archive_.size();
    for (const ZipEntry& entry : entries_) {
        std::string extra;
        for (const std::uint64_t field : {entry.size, entry.stored_size, entry.header_offset})
            if (field >= no_value32)
                put(extra, field, 8);
        if (!extra.empty()) {
            std::string header;
            put(header, zip64_extra, 2);
            put(header, extra.size(), 2);
            extra.insert(0, header);
        }
        const auto field32 = [](std::uint64_t value) { return std::min<std::uint64_t>(value, no_value32); };
        put(archive_, directory_signature, 4);
        put(archive_, extra.empty() ? 20 : 45, 2);
        put(archive_, extra.empty() ? 20 : 45, 2);
        put(archive_, utf8_flag, 2);
        put(archive_, 0, 2);
        put(archive_, 0, 2);
        put(archive_, 0x0021, 2);
        put(archive_, entry.crc, 4);
        put(archive_, field32(entry.stored_size), 4);
        put(archive_, field32(entry.size), 4);
        put(archive_, entry.name.size(), 2);
        put(archive_, extra.size(), 2);
        archive_.append(10, '\0'); // no comment, first disk, no attributes
        put(archive_, field32(entry.header_offset), 4);
        archive_ += entry.name;
        archive_ += extra;
    }
    const std::uint64_t size = archive_.size() - directory;
    const std::uint64_t count = entries_.size();
    if (directory >= no_value32 || size >= no_value32 || count >= 0xffff) {
        const std::uint64_t zip64 = archive_.size();
        put(archive_, zip64_end_signature, 4);
        put(archive_, zip64_end_size - 12, 8);
        put(archive_, 45, 2);
        put(archive_, 45, 2);
        put(archive_, 0, 8);
        put(archive_, count, 8);
        put(archive_, count, 8);
        put(archive_, size, 8);
        put(archive_, directory, 8);
        put(archive_, zip64_locator_signature, 4);
        put(archive_, 0, 4);
        put(archive_, zip64, 8);
        put(archive_, 1, 4);
    }
    put(archive_, end_signature, 4);
    put(archive_, 0, 4);
    put(archive_, std::min<std::uint64_t>(count, 0xffff), 2);
    put(archive_, std::min<std::uint64_t>(count, 0xffff), 2);
    put(archive_, std::min<std::uint64_t>(size, no_value32), 4);
    put(archive_, std::min<std::uint64_t>(directory, no_value32), 4);
    put(archive_, 0, 2);
    entries_.clear();
    return std::exchange(archive_, {});
}

} // namespace rekindle::trainer
