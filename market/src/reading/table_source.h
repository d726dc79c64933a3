#pragma once
/// Binary files of bars as text: the rows of a table in the form of a CSV file with a header. All rules about
/// columns, ticks, order and bad rows are then the same for every format.

#include "reading/text_source.h"

#include <rekindle/base/file.h>
#include <rekindle/base/hash.h>

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
    /// "Parquet".
    virtual std::string format() const = 0;
    /// One line with the names of the columns, with its newline.
    virtual const std::string& header() const = 0;
    /// Appends some rows, at least one; false, and nothing appended, at the end. Throws Error (usage).
    virtual bool append(std::string& text) = 0;
    /// How many rows there are; 0 if that is not known.
    virtual std::uint64_t rows() const { return 0; }
    /// How many bytes of the file were read; all of them at the end.
    virtual std::uint64_t bytes_done() const = 0;
    virtual std::uint64_t bytes_total() const = 0;
    /// Whether the format's definition says that timestamps mark the beginning of bars.
    virtual bool stamps_begin_bars() const { return false; }
    /// Sentences for the user.
    virtual std::vector<std::string> notes() const { return {}; }
};

/// Opens rows as text. If they are read from a mapped file, the source hashes and releases it; otherwise
/// `file` is empty.
std::unique_ptr<TextSource> make_table_source(std::unique_ptr<TableRows> rows, Hasher& hasher,
                                              std::shared_ptr<const MappedFile> file = nullptr);

} // namespace rekindle::market::reading
