#pragma once
/// Reads a file piece by piece and decompresses it.

#include <rekindle/base/hash.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace rekindle::market::reading {

class ByteStream {
  public:
    virtual ~ByteStream() = default;
    /// Appends the next bytes of the content, at most 256 KiB. At the end, appends nothing and returns false.
    /// Throws Error (usage) naming the file if the compressed data is damaged or ends early.
    virtual bool append(std::string& bytes) = 0;
    /// How many bytes of the file on disk were read.
    virtual std::uint64_t bytes_done() const = 0;
    /// The size of the file on disk.
    virtual std::uint64_t bytes_total() const = 0;
};

bool is_gzip(std::string_view bytes) noexcept;
bool is_zstd(std::string_view bytes) noexcept;
/// A zip archive with entries.
bool is_zip(std::string_view bytes) noexcept;

/// Opens a plain, gzip, zstd or zip file, which it recognizes by its first bytes. Of an archive, it reads the
/// only entry that can be bars (find_entry_of_bars()); gzip members or zstd frames that follow each other are
/// read as one content. `hasher` receives the bytes as stored and must outlive the stream. Throws Error
/// (usage) if an archive does not have exactly one such entry.
std::unique_ptr<ByteStream> open_byte_stream(const std::filesystem::path& path, MappedFile file,
                                             Hasher& hasher);

/// The error for a compressed file that ends early. `method` is "gzip" or "zstd".
Error cut_short(const std::filesystem::path& path, std::string_view method);

} // namespace rekindle::market::reading
