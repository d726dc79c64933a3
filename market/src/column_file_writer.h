#pragma once
/// Writes the columns of a column file one after another.

#include <rekindle/foundation/file.h>
#include <rekindle/market/bars.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market {

/// One column of the file's layout.
struct ColumnSpec {
    std::string name;
    std::string type; ///< "int64", "int32", "uint16", "float32"
    std::size_t width = 0;
    std::uint64_t offset = 0; ///< in bytes from the start of the file; a multiple of 64
};

/// The columns that a file may lack.
struct OptionalColumns {
    bool vix = false;
    bool sides = false; ///< volumes at the bid and at the ask
};

/// Columns are written in the order time, open, high, low, close, volume, contract, vix, bid_volume,
/// ask_volume, each with all its rows.
class ColumnFileWriter {
  public:
    ColumnFileWriter(const std::filesystem::path& path, const BarMetadata& metadata, std::uint64_t rows,
                     OptionalColumns optional);

    /// Writes the next value. Its type must be that of the column.
    template <class T>
    void put(T value) {
        require_width(sizeof value);
        file_.write(std::as_bytes(std::span(&value, 1)));
        if (++row_ == rows_)
            end_column();
    }
    /// Precondition: every column is complete.
    void commit();

  private:
    void require_width(std::size_t width) const;
    void begin_column();
    void end_column();

    AtomicFile file_;
    std::uint64_t rows_;
    std::vector<ColumnSpec> columns_;
    std::size_t column_ = 0;
    std::uint64_t row_ = 0;
};

} // namespace rekindle::market
