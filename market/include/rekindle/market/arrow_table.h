#pragma once
/// Tables in memory that another library, such as polars, pandas, DuckDB or pyarrow, passes through the Arrow
/// C data interface.

#include <rekindle/market/arrow_abi.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market {

/// A path of the form "memory:NAME" stands for a table in memory instead of a file.
inline constexpr std::string_view memory_path_prefix = "memory:";
std::filesystem::path memory_path(std::string_view name);
bool is_memory_path(const std::filesystem::path& path);

/// An imported table. Owns what the other library passed; destroying the last copy releases it, possibly on
/// another thread. Immutable, cheap to copy, thread-safe.
///
/// The ABI passes addresses without the sizes of the memory behind them, so the importer has to trust the
/// numbers in the structures. It checks everything that it can: formats, numbers of buffers and children,
/// lengths, offsets, positions of texts, and indices into dictionaries.
class ArrowTable {
  public:
    /// Takes over the stream, reads it to its end and releases it, even on failure. Throws Error (usage) if
    /// the stream reports an error, its elements are not records, or it breaks a rule of the interface.
    static ArrowTable read(ArrowArrayStream stream);
    /// Takes over one record batch and its schema. Throws Error like read().
    static ArrowTable read(ArrowSchema schema, ArrowArray batch);

    std::uint64_t rows() const noexcept;
    /// Compares identity, not contents.
    friend bool operator==(const ArrowTable& one, const ArrowTable& other) noexcept {
        return one.content_ == other.content_;
    }

    struct Content;
    /// For market/src/reading/arrow/.
    const Content& content() const noexcept { return *content_; }

  private:
    explicit ArrowTable(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
    std::shared_ptr<const Content> content_;
};

/// Returns the table as CSV with a header, as read_bars() sees tables. Fills in only columns whose name, in
/// lower case, is one of `columns`; the others stay empty. A null becomes an empty field; NaN becomes "nan".
std::string csv_of(const ArrowTable& table, std::span<const std::string_view> columns);

} // namespace rekindle::market
