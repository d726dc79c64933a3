#pragma once
/// The files to read, and what is known from their first lines.

#include "reading/day_stamps.h"
#include "reading/format.h"
#include "reading/number.h"
#include "reading/text_source.h"

#include <rekindle/base/hash.h>
#include <rekindle/market/arrow_table.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market::reading {

struct InputFile {
    std::filesystem::path path;
    std::optional<ArrowTable> table; ///< in memory, in place of a file
    FileLayout layout;
    std::uint64_t bytes = 0;
    double bytes_per_row = 64; ///< at the beginning, uncompressed
    std::uint64_t rows = 0;    ///< if the file says so, else 0
    bool packed = false;
    bool begins_bars = false;      ///< the format defines that a timestamp is the start of its bar
    std::int64_t bar_seconds = 0;  ///< the length of a bar, if the file says so, else 0
    bool newest_first = false;     ///< the beginning runs from newest to oldest
    bool lacks_volumes = false;    ///< no row of the beginning has a volume
    std::optional<DayStamps> days; ///< if a bar is a day or more
};

/// Expands folders to their bar files (docs/formats/bars.md), sorted by name. Throws
/// Error (usage) naming a path that does not exist or a folder without such files. Other files of folders are
/// added to `not_read`.
std::vector<std::filesystem::path> expand_paths(const std::vector<std::filesystem::path>& paths,
                                                std::vector<std::filesystem::path>& not_read);
/// A sentence that lists them.
std::string describe_not_read(const std::vector<std::filesystem::path>& files);

/// Opens the file or its table; see open_text_source().
std::unique_ptr<TextSource> open_input(const InputFile& file, Hasher& hasher,
                                       std::span<const int> used_columns = {});

/// Whether the file's timestamps are starts or ends of bars: the format decides, or else options.stamp, or
/// else the name of the time column.
StampAt stamp_of(const InputFile& file, const ReadOptions& options);

/// Adds the contracts named at the beginning of a file, as first_contracts() does.
void add_first_contracts(const std::filesystem::path& path, const ReadOptions& options,
                         std::vector<std::string>& names);

/// Recognizes every file and adds some prices from its beginning, middle and end to `prices`. Throws Error
/// (usage) if a file cannot be read as bars, or if daily (or longer) and shorter bars are mixed.
std::vector<InputFile> inspect_files(const std::vector<std::filesystem::path>& paths,
                                     const ReadOptions& options, std::vector<Decimal>& prices);

} // namespace rekindle::market::reading
