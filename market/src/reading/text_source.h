#pragma once
/// The text of a file as pieces of whole lines, whether the file is compressed or not.

#include <rekindle/base/hash.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market::reading {

/// A line longer than this is not a row of bars.
inline constexpr std::size_t max_line_length = 1 << 16;

/// Pieces of a file in order. Not thread-safe, but prefetch() may run while other threads read the current
/// piece.
class TextSource {
  public:
    virtual ~TextSource() = default;

    /// The next piece: whole lines (the last line of the file may lack its newline), about `target` bytes but
    /// at least one line; empty at the end. Invalidates the previous piece.
    virtual std::string_view next(std::size_t target) = 0;
    /// Work that can be done while the current piece is parsed: hashing and decompressing ahead. Optional.
    virtual void prefetch() = 0;
    /// Pieces spread over the file, each of whole lines with less than `size` bytes; none for a compressed
    /// file.
    virtual std::vector<std::string> samples(std::size_t count, std::size_t size) const = 0;
    virtual bool packed() const = 0;

    virtual std::uint64_t bytes_done() const = 0;
    virtual std::uint64_t bytes_total() const = 0;
};

/// Opens a plain file or a gzip file (recognized by its content). `hasher` receives the bytes as stored, all
/// of them once next() has returned the end. Throws Error (usage) naming the file if it cannot be read, is
/// empty, is not text or ends inside the compressed data.
std::unique_ptr<TextSource> open_text_source(const std::filesystem::path& path, Hasher& hasher);

} // namespace rekindle::market::reading
