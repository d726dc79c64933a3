#include "reading/parquet/parquet_rows.h"

#include "reading/parquet/column_reader.h"
#include "reading/parquet/damage.h"
#include "reading/parquet/metadata.h"
#include "reading/table_text.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace rekindle::market::parquet {

namespace {

constexpr std::size_t rows_at_a_time = 1024;

/// A column's cells of the current row group.
struct Cursor {
    std::optional<ColumnReader> reader; ///< empty: the cells are empty
    std::span<const std::string_view> cells;
    std::size_t position = 0;
    std::size_t left() const noexcept { return cells.size() - position; }
};

/// Copies the cell and returns its end. Writes up to readable_bytes, which the next cell overwrites.
char* copy_cell(std::string_view cell, char* out) noexcept {
    if (cell.size() <= readable_bytes)
        std::memcpy(out, cell.data(), readable_bytes);
    else
        std::memcpy(out, cell.data(), cell.size());
    return out + cell.size();
}

class ParquetRows final : public reading::TableRows {
  public:
    ParquetRows(std::filesystem::path path, std::shared_ptr<const MappedFile> file, std::span<const int> used)
        : path_(std::move(path)), file_(std::move(file)), read_all_(used.empty()) {
        guarded([&] { metadata_ = read_metadata(file_->text()); });
        used_.resize(metadata_.columns.size(), read_all_);
        for (const int column : used)
            used_.at(static_cast<std::size_t>(column)) = true;
        for (const Column& column : metadata_.columns) {
            if (!header_.empty())
                header_ += ',';
            reading::append_quoted(column.name, header_);
        }
        header_ += '\n';
    }

    std::string format() const override { return "Parquet"; }
    const std::string& header() const override { return header_; }
    std::uint64_t rows() const override { return static_cast<std::uint64_t>(metadata_.rows); }

    bool append(std::string& text) override {
        bool appended = false;
        guarded([&] {
            while (rows_left_ == 0 && next_group_ < metadata_.groups.size())
                begin_group(metadata_.groups[next_group_++]);
            if (rows_left_ == 0)
                return;
            append_rows(text);
            appended = true;
        });
        return appended;
    }

    std::uint64_t bytes_done() const override {
        const std::uint64_t size = file_->text().size();
        return metadata_.rows == 0
                   ? size
                   : static_cast<std::uint64_t>(static_cast<double>(size) * static_cast<double>(rows_done_) /
                                                static_cast<double>(metadata_.rows));
    }

    std::uint64_t bytes_total() const override { return file_->text().size(); }

    std::vector<std::string> notes() const override {
        std::string names;
        for (const Column& column : metadata_.columns)
            if (column.nested || column.logical == Logical::other)
                names += (names.empty() ? "" : ", ") + column.name;
        if (names.empty())
            return {};
        return {fmt::format("These columns of {} have types that are not read, such as lists, structures and "
                            "bytes without a type: {}.",
                            path_.string(), names)};
    }

  private:
    template <class Step>
    void guarded(const Step& step) const {
        try {
            step();
        } catch (const Damage& damage) {
            throw usage_error(fmt::format("the Parquet file is damaged: {}", damage.what))
                .at(path_.string())
                .expected("a complete file")
                .hint("Copy or download the file again.");
        } catch (const Unsupported& unsupported) {
            throw usage_error(fmt::format("this kind of Parquet file is not read: {}", unsupported.what))
                .at(path_.string())
                .expected("a flat table in pages of up to 64 MiB, uncompressed or compressed with snappy, "
                          "zstd, gzip, brotli or lz4")
                .hint(fmt::format("Write it again: python -c \"import pandas; "
                                  "pandas.read_parquet('{}').to_parquet('bars.parquet')\"",
                                  path_.string()));
        }
    }

    [[noreturn]] void refuse_values_of(const Column& column) const {
        const std::string values =
            column.nested ? "lists or structures"
            : column.physical == Physical::fixed_byte_array
                ? fmt::format("values of {} without a type", counted(column.length, "byte"))
                : "values of a type that is not read";
        throw usage_error(fmt::format("the column {} has {}", column.name, values))
            .at(path_.string())
            .expected("numbers, decimals, times or text")
            .hint("Write the table again with such a type, or choose other columns with --columns.");
    }

    void begin_group(const RowGroup& group) {
        rows_left_ = static_cast<std::size_t>(group.rows);
        cursors_.clear();
        cursors_.resize(metadata_.columns.size());
        for (std::size_t i = 0; i < cursors_.size(); ++i) {
            const Column& column = metadata_.columns[i];
            if (!used_[i])
                continue;
            if (!column.nested && column.logical != Logical::other)
                cursors_[i].reader.emplace(file_->text(), column, group.chunks[column.leaf]);
            else if (!read_all_)
                refuse_values_of(column);
        }
    }

    void refill(Cursor& cursor, std::size_t most) const {
        cursor.position = 0;
        try {
            cursor.cells = cursor.reader->read(most);
        } catch (const Unsupported&) {
            if (!read_all_)
                throw;
            cursor.reader.reset();
        }
    }

    void append_rows(std::string& text) {
        std::size_t count = std::min(rows_at_a_time, rows_left_);
        for (Cursor& cursor : cursors_) {
            if (cursor.reader && cursor.left() == 0)
                refill(cursor, rows_at_a_time);
            if (cursor.reader)
                count = std::min(count, cursor.left());
        }
        write_rows(count, text);
        rows_left_ -= count;
        rows_done_ += count;
    }

    /// Appends the next `count` rows of all cursors.
    void write_rows(std::size_t count, std::string& text) {
        std::size_t size = count * cursors_.size(); // with a separator after each cell
        for (const Cursor& cursor : cursors_)
            if (cursor.reader)
                for (const std::string_view cell : cursor.cells.subspan(cursor.position, count))
                    size += cell.size();
        const std::size_t begin = text.size();
        text.resize(begin + size + readable_bytes);
        char* out = text.data() + begin;
        for (std::size_t row = 0; row < count; ++row) {
            for (Cursor& cursor : cursors_) {
                if (cursor.reader)
                    out = copy_cell(cursor.cells[cursor.position + row], out);
                *out++ = ',';
            }
            out[-1] = '\n';
        }
        for (Cursor& cursor : cursors_)
            cursor.position += cursor.reader ? count : 0;
        text.resize(begin + size);
    }

    std::filesystem::path path_;
    std::shared_ptr<const MappedFile> file_;
    bool read_all_;
    FileMetadata metadata_;
    std::vector<bool> used_;
    std::string header_;
    std::vector<Cursor> cursors_;
    std::size_t next_group_ = 0;
    std::size_t rows_left_ = 0; ///< of the current group
    std::uint64_t rows_done_ = 0;
};

} // namespace

bool is_parquet(std::string_view bytes) noexcept {
    return bytes.starts_with("PAR1") || bytes.starts_with("PARE");
}

std::unique_ptr<reading::TableRows>
read_parquet(std::filesystem::path path, std::shared_ptr<const MappedFile> file, std::span<const int> used) {
    return std::make_unique<ParquetRows>(std::move(path), std::move(file), used);
}

} // namespace rekindle::market::parquet
