#pragma once
/// The part of the zip format that PyTorch's archives use. Archives are read in place from mapped bytes, so
/// that tensors are not copied and a hostile file costs bounded memory, and written with aligned data, which
/// PyTorch's mmap loading needs.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::trainer {

struct ZipEntry {
    std::string name;
    bool deflated = false;
    std::uint32_t crc = 0;
    std::uint64_t stored_size = 0; ///< bytes in the file
    std::uint64_t size = 0;        ///< bytes of the content
    std::uint64_t header_offset = 0;
};

/// Refers to the bytes, which must outlive it. Supports stored and deflated entries and zip64, but no
/// encryption and no split archives.
class ZipReader {
  public:
    /// Throws Error (usage) naming `name` and the byte where the directory is invalid.
    ZipReader(std::string_view bytes, std::string name);

    const std::vector<ZipEntry>& entries() const noexcept { return entries_; }
    const ZipEntry* find(std::string_view name) const noexcept;
    /// Content of an entry, its checksum verified. `storage` holds it where it was deflated.
    /// Throws Error (usage) when it is damaged or larger than `limit`.
    std::string_view content(const ZipEntry& entry, std::string& storage, std::uint64_t limit) const;

  private:
    [[noreturn]] void fail(const std::string& what, std::uint64_t offset) const;
    void read_directory(std::uint64_t offset, std::uint64_t size, std::uint64_t count);
    std::string_view raw(const ZipEntry& entry) const;
    std::string_view bytes_;
    std::string name_;
    std::vector<ZipEntry> entries_;
};

/// Builds an archive in memory: stored entries whose data begins at multiples of 64 bytes.
class ZipWriter {
  public:
    void add(std::string_view name, std::string_view content);
    /// The whole archive; the writer is empty afterwards.
    std::string finish();

  private:
    std::string archive_;
    std::vector<ZipEntry> entries_;
};

} // namespace rekindle::trainer
