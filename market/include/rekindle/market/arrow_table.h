#pragma once
/// Tables in memory that another library provides through the Arrow C data interface: polars, pandas, DuckDB,
/// pyarrow.

#include <rekindle/market/arrow_abi.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace rekindle::market {

/// A table in memory takes the place of the file at a path of this form: "memory:NAME".
inline constexpr std::string_view memory_path_prefix = "memory:";
std::filesystem::path memory_path(std::string_view name);
bool is_memory_path(const std::filesystem::path& path);

/// An imported table. Owns what the other library passed and releases it with the last copy, possibly on
/// another thread. Immutable, cheap to copy, thread-safe.
///
/// The ABI passes addresses without the size of what they point to, so the numbers in it have to be trusted.
/// Everything that can be checked is: formats, numbers of buffers and children, lengths, offsets, positions
/// of texts, and indices into dictionaries.
class ArrowTable {
  public:
    /// Takes over the stream, reads all of it and releases it, also when that fails. Throws Error (usage) if
    /// the stream reports an error, does not consist of records, or breaks a rule of the interface.
    static ArrowTable read(ArrowArrayStream stream);
    /// Takes over one record batch and its schema. Throws Error like read().
    static ArrowTable read(ArrowSchema schema, ArrowArray batch);

    std::uint64_t rows() const noexcept;
    /// The same table, not merely an equal one.
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

} // namespace rekindle::market
