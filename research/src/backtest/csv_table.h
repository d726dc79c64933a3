#pragma once
/// Reads small files of delimited text that have a header and no quoted line breaks.

#include <rekindle/foundation/error.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::research {

/// One line of the table. Its views are valid only during the callback.
class CsvRow {
  public:
    CsvRow(const std::vector<std::string>& header, const std::string& where, std::uint64_t line,
           char separator)
        : header_(header), where_(where), line_(line), decimal_comma_(separator != ',') {}

    /// The field of a column; "" if the table lacks the column.
    std::string_view text(std::string_view column) const;
    /// A number, which may have a decimal comma unless commas separate the fields; NaN for an empty field,
    /// "nan", or a missing column. Throws Error (usage) for any other text.
    double number(std::string_view column) const;
    /// An instant in seconds since 1970-01-01T00:00:00Z. Reads YYYY-MM-DDTHH:MM:SSZ, YYYY-MM-DD, a blank
    /// instead of the T, +00:00 instead of the Z, or no zone (raw labels). Throws Error (usage) for any other
    /// text.
    std::int64_t instant(std::string_view column) const;
    Error error(std::string what) const;

    std::vector<std::string_view> fields;

  private:
    const std::vector<std::string>& header_;
    const std::string& where_;
    std::uint64_t line_;
    bool decimal_comma_;
};

/// Calls `row` for each line. The first of comma, semicolon and tab that the header has separates the fields.
/// Strips blanks and one pair of quotes around fields, and skips empty lines.
/// Throws Error (usage) with file and line if a required column is missing, a column appears twice, or a line
/// has a different number of fields than the header.
void read_csv_rows(std::string_view csv, const std::string& where,
                   const std::vector<std::string_view>& required,
                   const std::function<void(const CsvRow&)>& row);

} // namespace rekindle::research
