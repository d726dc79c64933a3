#pragma once
/// The files that are read and what their beginnings tell.

#include "reading/format.h"
#include "reading/number.h"

#include <filesystem>
#include <string>
#include <vector>

namespace rekindle::market::reading {

struct InputFile {
    std::filesystem::path path;
    FileLayout layout;
    std::uint64_t bytes = 0;
    double bytes_per_row = 64; ///< of the beginning, unpacked
    bool packed = false;
    bool newest_first = false; ///< the beginning runs from new to old
};

/// Files as they are, folders as their *.csv, *.txt, *.csv.gz and *.txt.gz sorted by name. Throws Error
/// (usage) naming what does not exist or holds no such file. Other files of folders go to `not_read`.
std::vector<std::filesystem::path> expand_paths(const std::vector<std::filesystem::path>& paths,
                                                std::vector<std::filesystem::path>& not_read);
/// A sentence that names them.
std::string describe_not_read(const std::vector<std::filesystem::path>& files);

/// Recognizes every file and adds some of its prices, taken from its beginning, its middle and its end, to
/// `prices`.
std::vector<InputFile> inspect_files(const std::vector<std::filesystem::path>& paths,
                                     const std::string& columns, std::vector<Decimal>& prices);

} // namespace rekindle::market::reading
