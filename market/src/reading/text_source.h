#pragma once
/// The text of a file as pieces of whole lines, whether the file is compressed or not.

#include <rekindle/foundation/error.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
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
    /// The binary format whose rows are given as text, such as "Parquet"; "" for a file of text.
    virtual std::string table_format() const { return ""; }
    /// How many rows the file has; 0 if that is not known.
    virtual std::uint64_t rows() const { return 0; }
    /// Whether the format defines that a timestamp is the start of its bar.
    virtual bool stamps_begin_bars() const { return false; }
    /// The length of a bar in seconds, if the file says so; otherwise 0.
    virtual std::int64_t bar_seconds() const { return 0; }
    /// Sentences for the user about the file.
    virtual std::vector<std::string> notes() const { return {}; }

    virtual std::uint64_t bytes_done() const = 0;
    virtual std::uint64_t bytes_total() const = 0;
};

/// "a line is longer than 65,536 bytes", with max_line_length.
Error line_too_long(const std::filesystem::path& path);

} // namespace rekindle::market::reading
