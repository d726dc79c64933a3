#pragma once
/// The meaning of each column of a file. A format is one entry of the table in format.cpp.

#include "reading/stamp.h"

#include <rekindle/market/read_bars.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market::reading {

inline constexpr int no_column = -1;

/// Positions (from 0) of the columns that are used, or no_column for columns that the file lacks.
struct ColumnMap {
    int time = no_column; ///< date and time in one field
    int date = no_column; ///< together with clock: two fields
    int clock = no_column;
    int open = no_column, high = no_column, low = no_column, close = no_column;
    int volume = no_column;
    int more_volume = no_column; ///< a second part of the volume, to be added to `volume`
    int tick_volume = no_column; ///< number of price changes, in a file that also has a volume column
    int bid_volume = no_column;  ///< if only one of these two exists, the other is the rest of the volume
    int ask_volume = no_column;
    int contract = no_column;
    int vix = no_column;
    bool without_volume = false; ///< volume=none was requested

    bool has_sides() const noexcept { return bid_volume != no_column || ask_volume != no_column; }
    /// The positions that are used.
    std::vector<int> used() const;
};

/// A line of a file that is neither blank nor a comment.
struct HeadLine {
    std::string text; ///< without its line ending
    std::uint64_t number = 1;
    std::size_t begin = 0; ///< in bytes
    std::size_t end = 0;   ///< after its line ending
};

/// The beginning of a file.
struct FileHead {
    std::filesystem::path path;
    /// The first line if it is an address, and lines that begin with #, without the #.
    std::vector<std::string> comments;
    std::vector<HeadLine> lines; ///< the first ones, at least one and at most head_lines

    const HeadLine& first() const noexcept { return lines.front(); }
    /// The line after the first; "" if there is none.
    std::string_view second() const noexcept {
        return lines.size() > 1 ? std::string_view(lines[1].text) : std::string_view();
    }
};
inline constexpr std::size_t head_lines = 8;

/// How the rows of one file are read.
struct FileLayout {
    std::string format;
    char delimiter = ',';
    std::size_t column_count = 0;
    std::vector<std::string> header; ///< "" for each column of a file without one
    ColumnMap columns;
    StampFormat stamp;
    bool decimal_comma = false;     ///< prices and volumes are like 4.800,25
    bool stamps_begin_bars = false; ///< the time column's name says so: open_time, …
    std::string contract;           ///< of all rows, if there is no contract column
    std::size_t data_offset = 0;    ///< where the rows begin, in bytes
    std::uint64_t data_line = 1;    ///< the line that begins there
    std::vector<std::string> notes;
    bool synthetic = false; ///< the first comment says so
};

/// Finds the first lines in the beginning of a file. Throws Error (usage) if there are none.
FileHead read_head(const std::filesystem::path& path, std::string_view beginning);

/// Recognizes the layout. `columns` and `contract` are those of ReadOptions; the contract chooses one of
/// several tickers side by side. Throws Error (usage) naming what was found and what is missing.
FileLayout recognize_layout(const FileHead& head, std::string_view columns,
                            std::string_view contract = "all");

/// Whether the fields are names: none is a number or a timestamp.
bool is_header(const std::vector<std::string>& fields);

/// The fields of a line without quotes ("" inside quotes is one quote). Empty if a quote is not closed.
std::optional<std::vector<std::string>> split_fields(std::string_view line, char delimiter);

/// The contract named by a file name: the part before ".Last.txt"; or the whole name without extensions if it
/// ends in a contract month (ES 03-25, ES_03_25, ESH25); otherwise "".
std::string contract_of_file(const std::filesystem::path& path);

/// The name of a column as written in the file. Precondition: a column of the layout.
std::string header_of(const FileLayout& layout, int column);

/// The columns as listed in the report.
std::vector<RecognizedColumn> describe_columns(const FileLayout& layout);

} // namespace rekindle::market::reading
