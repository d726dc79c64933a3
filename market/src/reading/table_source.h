#pragma once
/// Turns the rows of a binary file into the text of a CSV file with a header, so that the rules for columns,
/// ticks, order and bad rows are the same for every format.

#include "reading/text_source.h"

#include <rekindle/base/hash.h>
#include <rekindle/foundation/file.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rekindle::market::reading {

/// The rows of one binary file. Fields are separated by commas.
class TableRows {
  public:
    virtual ~TableRows() = default;
    /// The name of the format, such as "Parquet".
    virtual std::string format() const = 0;
    /// The names of the columns as one line, with its newline.
    virtual const std::string& header() const = 0;
    /// Appends at least one row. At the end, appends nothing and returns false. Throws Error (usage).
    virtual bool append(std::string& text) = 0;
    /// How many rows the file has; 0 if that is not known.
    virtual std::uint64_t rows() const { return 0; }
    /// How many bytes of the file were read; all of them at the end.
    virtual std::uint64_t bytes_done() const = 0;
    virtual std::uint64_t bytes_total() const = 0;
    /// Whether the format defines that a timestamp is the start of its bar.
    virtual bool stamps_begin_bars() const { return false; }
    /// The length of a bar in seconds, if the file says so; otherwise 0.
    virtual std::int64_t bar_seconds() const { return 0; }
    /// Sentences for the user.
    virtual std::vector<std::string> notes() const { return {}; }
};

/// Gives the rows as text. If they come from a mapped file, the source hashes `file` and releases the parts
/// that were read; rows that come from a ByteStream, which does that itself, need no `file`.
std::unique_ptr<TextSource> make_table_source(std::unique_ptr<TableRows> rows, Hasher& hasher,
                                              std::shared_ptr<const MappedFile> file = nullptr);

} // namespace rekindle::market::reading
