#pragma once
/// The bytes of a file after decompression, piece by piece.

#include <rekindle/base/error.h>
#include <rekindle/base/file.h>
#include <rekindle/base/hash.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace rekindle::market::reading {

class ByteStream {
  public:
    virtual ~ByteStream() = default;
    /// Appends about 256 KiB; false, and nothing appended, at the end. Throws Error (usage) naming the file
    /// if the compressed data is damaged or ends early.
    virtual bool append(std::string& bytes) = 0;
    /// Of the stored file.
    virtual std::uint64_t bytes_done() const = 0;
    virtual std::uint64_t bytes_total() const = 0;
};

bool is_gzip(std::string_view bytes) noexcept;
bool is_zstd(std::string_view bytes) noexcept;
/// A zip archive with entries.
bool is_zip(std::string_view bytes) noexcept;

/// The content of a plain, gzip, zstd or zip file (recognized by its content); of an archive, the only entry
/// that can be bars. `hasher` receives the bytes as stored. Consecutive gzip members or zstd frames form one
/// content. Throws Error (usage) for an archive that does not have one such entry.
std::unique_ptr<ByteStream> open_byte_stream(const std::filesystem::path& path, MappedFile file,
                                             Hasher& hasher);

/// "the gzip file is cut short".
Error cut_short(const std::filesystem::path& path);

} // namespace rekindle::market::reading
