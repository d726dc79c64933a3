#pragma once
/// Reads files of bars, or tables in memory, into one table. docs/formats/bars.md describes every format,
/// rule and error.

#include <rekindle/base/cancellation.h>
#include <rekindle/base/hash.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/foundation/log.h>
#include <rekindle/market/arrow_table.h>
#include <rekindle/market/bar_length.h>
#include <rekindle/market/bars.h>
#include <rekindle/market/session.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market {

/// The files to read and how to interpret them.
struct ReadOptions {
    /// Files or folders, at least one. A folder stands for its bar files (docs/formats/bars.md), sorted by
    /// name.
    std::vector<std::filesystem::path> paths;
    /// Tables in memory, which are read like files. Each key is the entry of `paths` that stands for the
    /// table: see memory_path().
    std::map<std::filesystem::path, ArrowTable> tables;
    /// "time=1,open=Open,…": the keys are time, date, clock, open, high, low, close, volume, contract and
    /// vix; a value is a position, counted from 1, or a name from the header; volume=none is for series
    /// without volume. "" recognizes the columns automatically.
    std::string columns;
    /// "all", or the beginnings of contract names, separated by commas. If no contract matches, the error
    /// lists the names.
    std::string contract = "all";
    /// If not empty, only contracts with exactly these names are read, and `contract` is ignored. The files
    /// may hold other contracts, too.
    std::vector<std::string> exact_contracts;
    bool chain = false;         ///< files without contracts are one history, whatever their names and prices
    std::optional<double> tick; ///< in points; if empty, inferred from the prices
    /// The instrument's tick in points, or 0 if it is unknown. It replaces an inferred tick that is a
    /// multiple of it: a short file may not contain enough different prices to show the tick.
    double usual_tick = 0;
    /// As Instrument::negative_prices.
    bool negative_prices = false;
    /// If set, prices are treated as having no tick, even if one fits. Profiles use bins of this many points,
    /// or choose the width from the prices if it is 0. Cannot be combined with `tick`.
    std::optional<double> profile_bin;
    bool skip_bad_rows = false; ///< skip them and return them in ReadResult::rejected
    /// Bars per block; 0 keeps everything in memory. Otherwise the bars are written to column_file, which is
    /// then memory-mapped.
    std::size_t chunk_size = 0;
    std::filesystem::path column_file; ///< required when chunk_size > 0
    Clock clock = Clock::utc;          ///< clock and zone: as in StampRules
    std::string zone = "America/New_York";
    /// If empty, the name of the time column decides: open_time, ts_event and window_start hold the start of
    /// a bar, every other column its end. Formats that define what a timestamp means (SCID, DBN) ignore it.
    std::optional<StampAt> stamp;
    std::string exchange_zone =
        "America/New_York";                   ///< zone of the dates that daily and longer bars belong to
    std::optional<std::filesystem::path> vix; ///< file with the VIX; takes precedence over a VIX column

    /// For files that do not say what their timestamps mean.
    StampRules stamps() const { return {clock, zone, stamp.value_or(StampAt::bar_end)}; }
    friend bool operator==(const ReadOptions&, const ReadOptions&) = default;
};

/// A row that cannot be used, and why.
struct RejectedRow {
    std::filesystem::path file;
    std::uint64_t line = 0;   ///< from 1
    std::uint64_t column = 0; ///< character within the line, from 1
    std::string reason;
    std::string expected; ///< may be empty
    std::string text;     ///< the row, at most 400 bytes of it
};

/// A column of the file, whether it is used or not.
struct RecognizedColumn {
    std::string name;         ///< "time", "open", …; "" when it is not used
    std::string header;       ///< its name in the file, "" if there is no header
    std::size_t position = 0; ///< from 1
    friend bool operator==(const RecognizedColumn&, const RecognizedColumn&) = default;
};

struct ContractRows {
    std::string name;
    std::uint64_t rows = 0;
    friend bool operator==(const ContractRows&, const ContractRows&) = default;
};

/// A description of the data that was read.
struct ReadReport {
    std::string format;                    ///< of the first file, e.g. "merged CSV"
    std::vector<RecognizedColumn> columns; ///< of the first file, in order of position
    std::vector<std::filesystem::path> files;
    std::uint64_t rows = 0;           ///< bars in the table
    std::uint64_t rejected = 0;       ///< rows that skip_bad_rows skipped
    std::uint64_t prices_rounded = 0; ///< prices with float noise that were rounded to a tick
    double largest_rounding = 0;      ///< of these prices, as a fraction of the tick
    TickSize tick;                    ///< if prices have none, the step in which they are stored
    bool tick_inferred = false;
    int volume_decimals = 0; ///< as BarMetadata::volume_decimals
    double profile_bin = 0;  ///< width of a profile's level in points if prices have no tick, else 0
    /// Spacing of 32-bit floats at these prices, in points, if it hides the tick; otherwise 0.
    double float_spacing = 0;
    StampRules stamps;                          ///< how the timestamps were read
    std::int64_t bar_seconds = 0;               ///< the usual time between bars, in seconds
    BarSpacing spacing;                         ///< how often each time between bars occurs
    std::int64_t first_time = 0, last_time = 0; ///< as BarColumns::time
    std::uint64_t bytes = 0;                    ///< size of the files as stored
    Hash128 data_hash;                          ///< XXH3-128 of the stored bytes, in file order
    std::vector<ContractRows> contracts;
    std::uint64_t closes_below_zero = 0;
    std::string vix_source = "none"; ///< "column", "file", "none"
    bool synthetic = false;          ///< the first comment of a file says that its bars are simulated
    std::vector<std::string> notes;  ///< sentences for the user
};

/// "0.25 points, inferred from the prices"; "none; profiles use bins of 0.05 points".
std::string tick_text(const ReadReport& report);

struct ReadResult {
    BarTable bars;
    ReadReport report;
    std::vector<RejectedRow> rejected; ///< by file and line; empty unless skip_bad_rows
};

/// Returns the contracts that options.contract selects, each once and in order of appearance. Finds them in
/// the first rows of each file and in the file names. "" stands for a file that names no contract. Throws
/// Error (usage) if a file cannot be read as bars.
std::vector<std::string> first_contracts(const ReadOptions& options);

/// Reads bars. The table does not depend on the number of threads or the chunk size. Throws Error:
///   usage        the input cannot be read as bars; for bad rows, the first ten as `file:line:column: what,
///                expected …` and the total count
///   failed       column_file cannot be written
///   interrupted  the token was set
/// `progress` is called on the calling thread after each block, with byte counts of the stored files.
ReadResult
read_bars(const ReadOptions& options, ThreadPool& pool, LogSink& log, const CancellationToken& cancel,
          const std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)>& progress = {});

/// Writes file,line,column,reason,text as CSV, atomically.
void write_rejected_rows(const std::filesystem::path& rejected_csv, std::span<const RejectedRow> rows);

} // namespace rekindle::market
