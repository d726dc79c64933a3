#pragma once
/// Writes the values of one column of a record batch as fields of a CSV file.

#include "reading/arrow/arrow_type.h"

#include <rekindle/market/arrow_abi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace rekindle::market::arrow {

/// Thrown for an array that breaks a rule of the interface.
struct Violation {
    std::string what; ///< "it has 1 buffer, expected 2"
};

/// Keeps a reference to the array, which must outlive it. Read-only, thread-safe.
class Column {
  public:
    /// Uses `rows` rows of the array, beginning with row `first`. Checks them and throws Violation if they
    /// break a rule of the interface.
    Column(const ArrowSchema& schema, const ArrowArray& array, std::uint64_t first, std::uint64_t rows);

    /// Whether the values can be read.
    bool readable() const noexcept { return type_.kind != Kind::other; }
    /// Size of these rows' values in bytes.
    std::uint64_t bytes() const noexcept;
    /// Appends the value of a row, counted from `first`: nothing for a null; decimals and integers exactly;
    /// floats as the shortest text that reads back as the same float; dates and times in ISO 8601 (with Z if
    /// they are instants); texts in quotes where necessary. Preconditions: readable(), row < rows.
    void append(std::uint64_t row, std::string& text) const;

  private:
    void require_buffers(const ArrowArray& array);
    void check_texts(const ArrowArray& array) const;
    void check_views(const ArrowArray& array) const;
    void check_indices(const ArrowArray& array) const;

    bool is_null(std::uint64_t position) const noexcept;
    std::int64_t integer(std::uint64_t position) const noexcept;
    std::string_view text(std::uint64_t position) const noexcept;
    void append_value(std::uint64_t position, std::string& text) const;

    Type type_;
    std::uint64_t first_ = 0; ///< position of row 0 in the buffers
    std::uint64_t rows_ = 0;
    const std::uint8_t* validity_ = nullptr; ///< nullptr: no value is null
    const std::byte* values_ = nullptr;      ///< for texts: their positions
    const char* characters_ = nullptr;       ///< for Kind::text
    const void* const* buffers_ = nullptr;   ///< for Kind::text_views
    std::shared_ptr<const Column> dictionary_;
};

} // namespace rekindle::market::arrow
