#pragma once
/// Which column of a file means what. A format is one entry of the table in format.cpp.

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

/// Positions (from 0) of the columns that are used, no_column for those that the file has not.
struct ColumnMap {
    int time = no_column; ///< date and time in one field
    int date = no_column; ///< with clock: two fields
    int clock = no_column;
    int open = no_column, high = no_column, low = no_column, close = no_column;
    int volume = no_column;
    int tick_volume = no_column; ///< number of price changes, in a file that has a volume column as well
    int contract = no_column;
    int vix = no_column;
    bool without_volume = false; ///< volume=none was asked for
};

/// The beginning of a file.
struct FileHead {
    std::filesystem::path path;
    std::vector<std::string> comments; ///< lines that begin with #, without it
    std::string first_line;            ///< the first other line, without its line end
    std::string second_line;           ///< the one after it, "" when there is none
    std::uint64_t first_line_number = 1;
    std::size_t first_line_offset = 0; ///< in bytes
    std::size_t second_line_offset = 0;
};

/// How the rows of one file are read.
struct FileLayout {
    std::string format;
    char delimiter = ',';
    std::size_t column_count = 0;
    std::vector<std::string> header; ///< "" for each column of a file without one
    ColumnMap columns;
    StampFormat stamp;
    bool stamps_begin_bars = false; ///< by the name of the time's column
    std::string contract;           ///< of all rows when there is no contract column
    std::size_t data_offset = 0;    ///< where the rows begin, in bytes
    std::uint64_t data_line = 1;    ///< the line that begins there
    std::vector<std::string> notes;
    bool synthetic = false; ///< the first comment says so
};

/// Finds the first lines in the beginning of a file. Throws Error (usage) when there is none.
FileHead read_head(const std::filesystem::path& path, std::string_view beginning);

/// Recognizes the layout. `columns` is ReadOptions::columns. Throws Error (usage) that names what was seen
/// and what is missing.
FileLayout recognize_layout(const FileHead& head, std::string_view columns);

/// Fields of a line, quotes removed ("" inside quotes is one quote). Nothing when a quote stays open.
std::optional<std::vector<std::string>> split_fields(std::string_view line, char delimiter);

/// The name of the contract that a file name gives: all before ".Last.txt"; or the whole name without endings
/// when it ends in a contract month (ES 03-25, ES_03_25, ESH25); otherwise "".
std::string contract_of_file(const std::filesystem::path& path);

/// The name of a column as the file writes it. Precondition: a column of the layout.
std::string header_of(const FileLayout& layout, int column);

/// What the report says of the columns.
std::vector<RecognizedColumn> describe_columns(const FileLayout& layout);

} // namespace rekindle::market::reading
