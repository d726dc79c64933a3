#pragma once
/// The bytes of a file as pieces of whole lines, whatever the file's packing.

#include <rekindle/base/hash.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market::reading {

/// A line longer than this is no row of bars.
inline constexpr std::size_t max_line_length = 1 << 16;

/// Pieces of a file in order. Not thread-safe, but prefetch() may run while other threads read the current
/// piece.
class TextSource {
  public:
    virtual ~TextSource() = default;

    /// The next piece: whole lines (the last one of the file perhaps without its newline), about `target`
    /// bytes, at least one line; empty at the end. The previous piece is gone then.
    virtual std::string_view next(std::size_t target) = 0;
    /// Work that can go on while the current piece is parsed: hashing and unpacking ahead. Optional.
    virtual void prefetch() = 0;
    /// Pieces spread over the file, of less than `size` bytes of whole lines each; none of a packed file.
    virtual std::vector<std::string> samples(std::size_t count, std::size_t size) const = 0;
    virtual bool packed() const = 0;

    virtual std::uint64_t bytes_done() const = 0;
    virtual std::uint64_t bytes_total() const = 0;
};

/// Opens a file for reading, packed with gzip (recognized by its content) or plain. `hasher` receives the
/// bytes as stored, all of them once next() has returned the end. Throws Error (usage) naming the file when
/// it cannot be read, is empty, is no text or ends inside the packed data.
std::unique_ptr<TextSource> open_text_source(const std::filesystem::path& path, Hasher& hasher);

} // namespace rekindle::market::reading
