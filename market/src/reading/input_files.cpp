#include "reading/input_files.h"

#include "reading/row_parser.h"
#include "reading/text_source.h"

#include <rekindle/base/error.h>

#include <algorithm>
#include <array>

namespace rekindle::market::reading {

namespace {

constexpr std::size_t beginning_size = 1 << 16;
constexpr std::size_t sample_size = 1 << 13;

bool is_bar_file(const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    constexpr std::array endings{".csv", ".txt", ".csv.gz", ".txt.gz"};
    return !name.starts_with('.') && std::any_of(endings.begin(), endings.end(),
                                                 [&](const char* ending) { return name.ends_with(ending); });
}

std::vector<std::filesystem::path> files_of_folder(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    std::error_code code;
    for (std::filesystem::directory_iterator entry(folder, code), end; !code && entry != end;
         entry.increment(code))
        if (entry->is_regular_file() && is_bar_file(entry->path()))
            files.push_back(entry->path());
    if (code)
        throw usage_error("cannot list the folder: " + code.message()).at(folder.string());
    if (files.empty())
        throw usage_error("the folder holds no bars")
            .at(folder.string())
            .expected("*.csv, *.txt, *.csv.gz or *.txt.gz");
    std::sort(files.begin(), files.end());
    return files;
}

InputFile inspect_file(const std::filesystem::path& path, const std::string& columns,
                       std::size_t sample_count, std::vector<Decimal>& prices) {
    Hasher unused;
    const auto source = open_text_source(path, unused);
    std::string_view text = source->next(beginning_size);
    InputFile file;
    file.path = path;
    file.layout = recognise_layout(read_head(path, text), columns);
    file.bytes = source->bytes_total();
    file.packed = source->packed();
    text.remove_prefix(file.layout.data_offset);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    if (lines > 0)
        file.bytes_per_row = static_cast<double>(text.size()) / static_cast<double>(lines);
    const RowParser parser({.layout = file.layout, .tick = TickConverter({1}), .contract_filter = ""});
    parser.collect_prices(text, prices);
    if (file.bytes > 2 * beginning_size)
        for (const std::string& sample : source->samples(sample_count, sample_size))
            parser.collect_prices(sample, prices);
    return file;
}

} // namespace

std::vector<std::filesystem::path> expand_paths(const std::vector<std::filesystem::path>& paths) {
    if (paths.empty())
        throw usage_error("no bars are named").expected("a file or a folder").hint("Give it with --data.");
    std::vector<std::filesystem::path> files;
    for (const std::filesystem::path& path : paths) {
        if (std::filesystem::is_directory(path)) {
            const auto more = files_of_folder(path);
            files.insert(files.end(), more.begin(), more.end());
        } else {
            files.push_back(path);
        }
    }
    return files;
}

std::vector<InputFile> inspect_files(const std::vector<std::filesystem::path>& paths,
                                     const std::string& columns, std::vector<Decimal>& prices) {
    const std::size_t samples_per_file = std::max<std::size_t>(2, 32 / paths.size());
    std::vector<InputFile> files;
    for (const std::filesystem::path& path : paths)
        files.push_back(inspect_file(path, columns, samples_per_file, prices));
    const bool dates_only = files.front().layout.stamp.time == TimeFormat::none;
    for (const InputFile& file : files)
        if ((file.layout.stamp.time == TimeFormat::none) != dates_only)
            throw usage_error(dates_only ? "this file has times of day and the first one has dates alone"
                                         : "this file has dates alone and the first one has times of day")
                .at(file.path.string())
                .expected("files with bars of one kind");
    return files;
}

} // namespace rekindle::market::reading
