#include "reading/input_files.h"

#include "reading/arrow/arrow_rows.h"
#include "reading/open_text_source.h"
#include "reading/row_parser.h"
#include "reading/table_source.h"

#include <rekindle/foundation/error.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rekindle::market::reading {

namespace {

constexpr std::size_t beginning_size = 1 << 16;
constexpr std::size_t sample_size = 1 << 13;
constexpr std::size_t enough_prices = 4000; ///< to infer a tick

bool is_bar_file(const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    constexpr std::array endings{".csv", ".txt",     ".csv.gz", ".txt.gz", ".csv.zst", ".txt.zst",
                                 ".zip", ".parquet", ".scid",   ".dbn",    ".dbn.zst"};
    return !name.starts_with('.') && std::any_of(endings.begin(), endings.end(),
                                                 [&](const char* ending) { return name.ends_with(ending); });
}

std::vector<std::filesystem::path> files_of_folder(const std::filesystem::path& folder,
                                                   std::vector<std::filesystem::path>& not_read) {
    std::vector<std::filesystem::path> files;
    std::error_code code;
    for (std::filesystem::directory_iterator entry(folder, code), end; !code && entry != end;
         entry.increment(code))
        if (entry->is_regular_file() && is_bar_file(entry->path()))
            files.push_back(entry->path());
        else if (entry->is_regular_file() && !entry->path().filename().string().starts_with('.'))
            not_read.push_back(entry->path());
    if (code)
        throw usage_error("cannot read the folder: " + code.message()).at(folder.string());
    if (files.empty())
        throw usage_error("the folder contains no bar files")
            .at(folder.string())
            .expected("*.csv, *.txt, *.csv.gz, *.csv.zst, *.zip, *.parquet, *.scid or *.dbn");
    std::sort(files.begin(), files.end());
    std::sort(not_read.begin(), not_read.end());
    return files;
}

/// The selected contracts may begin late in a file, so this reads on until there are `enough` prices.
void collect_later_prices(const RowParser& parser, TextSource& source, std::size_t enough,
                          std::vector<Decimal>& prices) {
    constexpr std::size_t piece_size = 1 << 20;
    for (std::string_view text = source.next(piece_size); !text.empty() && prices.size() < enough;
         text = source.next(piece_size))
        parser.collect_prices(text, prices);
}

InputFile inspect_file(const std::filesystem::path& path, const ReadOptions& options,
                       std::size_t sample_count, std::vector<Decimal>& prices) {
    InputFile file;
    file.path = path;
    if (const auto table = options.tables.find(path); table != options.tables.end())
        file.table = table->second;
    Hasher unused;
    const auto source = open_input(file, unused);
    std::string_view text = source->next(beginning_size);
    file.layout = recognize_layout(read_head(path, text), options.columns, options.contract);
    file.bytes = source->bytes_total();
    file.packed = source->packed();
    file.rows = source->rows();
    file.begins_bars = source->stamps_begin_bars();
    file.bar_seconds = source->bar_seconds();
    if (const std::string format = source->table_format(); !format.empty()) {
        file.layout.format = format;
        file.layout.data_line = 1; // rows are counted without the header
    }
    for (std::string& note : source->notes())
        file.layout.notes.push_back(std::move(note));
    text.remove_prefix(file.layout.data_offset);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    if (lines > 0)
        file.bytes_per_row = static_cast<double>(text.size()) / static_cast<double>(lines);
    const RowParser parser(
        {.layout = file.layout, .tick = TickConverter(TickSize{1}), .contract_filter = {}});
    // A few rows may run the other way: the hour repeated in the fall, or a misplaced row.
    const RowParser::Times times = parser.count_times(text);
    file.newest_first = times.backwards > 20 * times.forwards;
    ReadOptions as_stamped = options;
    as_stamped.stamp = stamp_of(file, options);
    file.days = DayStamps::recognize(times, file.layout.stamp, as_stamped);
    file.layout.stamp.midnight =
        file.days && file.days->dates_as_written() && file.layout.stamp.time != TimeFormat::none;
    file.lacks_volumes = parser.lacks_volumes(text);
    const RowParser chosen({.layout = file.layout,
                            .tick = TickConverter(TickSize{1}),
                            .contract_filter = {options.contract, options.exact_contracts}});
    const std::size_t before = prices.size();
    chosen.collect_prices(text, prices);
    if (file.bytes > 2 * beginning_size)
        for (const std::string& sample : source->samples(sample_count, sample_size))
            chosen.collect_prices(sample, prices);
    if (prices.size() - before < enough_prices && file.layout.columns.contract != no_column)
        collect_later_prices(chosen, *source, before + enough_prices, prices);
    return file;
}

/// Reads only as much of the file as needed.
bool has_volume(const InputFile& file) {
    constexpr std::size_t piece_size = 1 << 20;
    Hasher unused;
    const RowParser parser(
        {.layout = file.layout, .tick = TickConverter(TickSize{1}), .contract_filter = {}});
    const auto source = open_input(file, unused, file.layout.columns.used());
    std::size_t before_rows = file.layout.data_offset;
    for (std::string_view text = source->next(piece_size); !text.empty(); text = source->next(piece_size)) {
        const std::size_t skip = std::min(before_rows, text.size());
        before_rows -= skip;
        if (parser.has_volume(text.substr(skip)))
            return true;
    }
    return false;
}

/// For files with both a traded volume and a number of price changes: uses the traded volume, unless it is 0
/// in all of them.
void choose_volumes(std::vector<InputFile>& files) {
    const auto has_both = [](const InputFile& file) { return file.layout.columns.tick_volume != no_column; };
    const auto first = std::find_if(files.begin(), files.end(), has_both);
    if (first == files.end())
        return;
    FileLayout& layout = first->layout;
    const std::string traded = header_of(layout, layout.columns.volume);
    const std::string changes = header_of(layout, layout.columns.tick_volume);
    const bool is_traded = std::any_of(
        first, files.end(), [&](const InputFile& file) { return has_both(file) && has_volume(file); });
    layout.notes.push_back(is_traded
                               ? "Volume is taken from the column " + traded + ", not from " + changes +
                                     ", which counts price changes."
                               : "Volume is taken from the column " + changes +
                                     ", which counts price changes, because " + traded + " is 0 throughout.");
    if (!is_traded)
        for (InputFile& file : files)
            if (has_both(file))
                std::swap(file.layout.columns.volume, file.layout.columns.tick_volume);
}

} // namespace

std::vector<std::filesystem::path> expand_paths(const std::vector<std::filesystem::path>& paths,
                                                std::vector<std::filesystem::path>& not_read) {
    if (paths.empty())
        throw usage_error("no data files are given")
            .expected("a file or a folder")
            .hint("Pass it with --data.");
    std::vector<std::filesystem::path> files;
    for (const std::filesystem::path& path : paths) {
        if (std::filesystem::is_directory(path)) {
            const auto more = files_of_folder(path, not_read);
            files.insert(files.end(), more.begin(), more.end());
        } else {
            files.push_back(path);
        }
    }
    return files;
}

std::string describe_not_read(const std::vector<std::filesystem::path>& files) {
    constexpr std::size_t max_named = 5;
    std::string names;
    for (std::size_t i = 0; i < std::min(files.size(), max_named); ++i)
        names += (i > 0 ? ", " : "") + files[i].filename().string();
    return "Not read, because their names do not end like those of bar files: " + names +
           (files.size() > max_named ? " and " + std::to_string(files.size() - max_named) + " more." : ".");
}

std::unique_ptr<TextSource> open_input(const InputFile& file, Hasher& hasher,
                                       std::span<const int> used_columns) {
    if (file.table)
        return make_table_source(arrow::read_arrow(file.path, *file.table, hasher, used_columns), hasher);
    if (is_memory_path(file.path))
        throw usage_error("these bars came from a table in memory, which is not stored")
            .at(file.path.string())
            .expected("a file or a folder")
            .hint("Pass the bars again.");
    return open_text_source(file.path, hasher, used_columns);
}

StampAt stamp_of(const InputFile& file, const ReadOptions& options) {
    if (file.begins_bars)
        return StampAt::bar_start;
    return options.stamp.value_or(file.layout.stamps_begin_bars ? StampAt::bar_start : StampAt::bar_end);
}

void add_first_contracts(const std::filesystem::path& path, const ReadOptions& options,
                         std::vector<std::string>& names) {
    const ContractFilter filter(options.contract, options.exact_contracts);
    Hasher unused;
    const auto source = open_text_source(path, unused);
    std::string_view text = source->next(beginning_size);
    const FileLayout layout = recognize_layout(read_head(path, text), options.columns, options.contract);
    std::vector<std::string> found{layout.contract};
    if (layout.columns.contract != no_column) {
        text.remove_prefix(layout.data_offset);
        const RowParser parser(
            {.layout = layout, .tick = TickConverter(TickSize{1}), .contract_filter = filter});
        ParsedBlock block;
        parser.parse(text, block);
        found = block.contracts;
    }
    for (const std::string& name : found)
        if (filter.accepts(name) && std::ranges::find(names, name) == names.end())
            names.push_back(name);
}

std::vector<InputFile> inspect_files(const std::vector<std::filesystem::path>& paths,
                                     const ReadOptions& options, std::vector<Decimal>& prices) {
    const std::size_t samples_per_file = std::max<std::size_t>(2, 32 / paths.size());
    std::vector<InputFile> files;
    files.reserve(paths.size());
    for (const std::filesystem::path& path : paths)
        files.push_back(inspect_file(path, options, samples_per_file, prices));
    choose_volumes(files);
    for (InputFile& file : files)
        if (file.lacks_volumes && !has_volume(file)) {
            FileLayout& layout = file.layout;
            layout.notes.push_back("Every volume is 0 because the column " +
                                   header_of(layout, layout.columns.volume) + " is empty.");
            layout.columns.volume = no_column;
            layout.columns.without_volume = true;
        }
    const bool days = files.front().days.has_value();
    for (const InputFile& file : files)
        if (file.days.has_value() != days)
            throw usage_error(days
                                  ? "the bars of this file are shorter than a day, those of the first are not"
                                  : "the bars of this file are days, those of the first are shorter")
                .at(file.path.string())
                .expected("all files with bars shorter than a day, or none");
    return files;
}

} // namespace rekindle::market::reading
