#pragma once
/// Reads one column of a row group as text, a page at a time.

#include "reading/parquet/bit_reader.h"
#include "reading/parquet/metadata.h"
#include "reading/parquet/value_decoder.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market::parquet {

/// The bytes from the beginning of each cell that can be read, even if its text is shorter: short texts are
/// copied fastest as a block of constant size.
inline constexpr std::size_t readable_bytes = 16;

class ColumnReader {
  public:
    /// `file` and `column` must outlive the reader.
    ColumnReader(std::string_view file, const Column& column, const Chunk& chunk)
        : column_(column), codec_(chunk.codec), bytes_(file.substr(chunk.begin, chunk.end - chunk.begin)),
          values_left_(static_cast<std::size_t>(chunk.values)) {}

    /// The next cells, at least one and at most `most`; empty text for missing values. At least
    /// readable_bytes can be read from the beginning of each. Valid until the next call. Throws Damage or
    /// Unsupported. Precondition: not all cells were read.
    std::span<const std::string_view> read(std::size_t most);

  private:
    void next_page();
    void read_dictionary(const PageHeader& page, std::string_view stored);
    void begin_page(const PageHeader& page, std::string_view stored);
    std::string_view take_levels(const PageHeader& page, std::string_view content);
    std::size_t read_presence(std::size_t count);
    void write_values(std::size_t count);
    std::string_view dictionary_entry(std::uint32_t index) const;

    const Column& column_;
    Codec codec_;
    std::string_view bytes_; ///< the pages that are left
    std::size_t values_left_;

    std::string dictionary_text_; ///< with room for more
    std::vector<std::uint32_t> dictionary_ends_;
    bool has_dictionary_ = false;

    std::string page_;          ///< decompressed
    std::size_t page_left_ = 0; ///< cells of the page that are left
    std::optional<RunLengthReader> levels_;
    std::optional<RunLengthReader> indices_;
    std::unique_ptr<ValueDecoder> decoder_;

    std::vector<std::uint32_t> numbers_; ///< levels, then indices
    std::vector<bool> present_;
    std::vector<Value> values_;
    std::string text_; ///< of the cells, with room for more
    std::vector<std::string_view> cells_;
};

} // namespace rekindle::market::parquet
