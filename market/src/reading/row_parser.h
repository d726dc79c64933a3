#pragma once
/// Converts rows of text to columns of numbers, one block of lines at a time. Blocks are independent of each
/// other.

#include "reading/contract_filter.h"
#include "reading/format.h"
#include "reading/number.h"

#include <rekindle/market/read_bars.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market::reading {

/// How many prices that do not fit the tick are kept: enough to infer another tick.
inline constexpr std::size_t misfit_limit = 4096;

/// The content of a block of lines. Reused for later blocks to keep its memory.
struct ParsedBlock {
    std::string_view text; ///< the lines; must outlive the block's use
    BarBuffer bars; ///< time: label as if UTC, or UTC if timestamps include an offset; order not checked.
                    ///< contract: index into `contracts`. vix: as given, NaN if missing
    std::vector<std::uint32_t> line;          ///< of each bar, from 0 in the block
    std::vector<std::uint32_t> offset;        ///< of each bar's line, in bytes from the start of the block
    std::vector<std::string> contracts;       ///< names in order of appearance, without those filtered out
    std::vector<std::string> other_contracts; ///< names that were filtered out
    std::vector<RejectedRow>
        rejected; ///< with lines counted from 0 in the block; at most RowParser::Settings::rejected_limit
    std::uint64_t rejected_count = 0;
    std::uint64_t lines = 0;
    std::uint64_t prices = 0; ///< prices that were processed, including those that did not fit
    std::uint64_t prices_rounded = 0;
    double largest_rounding = 0;           ///< of these, as a fraction of the tick
    std::uint64_t prices_misfit = 0;       ///< noisy, off_tick or too_large
    std::uint64_t negative_closes = 0;     ///< rows with a close below 0, except rows of missing prices
    std::uint64_t unknown_volumes = 0;     ///< -1, read as 0
    std::uint64_t volumes_rounded = 0;     ///< volumes whose fraction was rounded away
    std::uint64_t small_fractions = 0;     ///< of these, volumes below 1000
    int volume_decimals = 0;               ///< the most decimals that a volume has
    std::vector<Decimal> misfits;          ///< the first of them
    std::vector<std::uint32_t> separators; ///< scratch memory of the parser

    void clear();
};

/// How a price at or below 0 is read; PriceFields::check_signs() says which rows have missing prices.
enum class BelowZero {
    refused,  ///< as an error
    adjusted, ///< as a price of a back-adjusted series, unless the row has missing prices
    traded,   ///< as a price, because the market trades below 0, unless the row has missing prices
};

/// Parses rows of one layout. Immutable, so several threads may share a parser.
class RowParser {
  public:
    struct Settings {
        FileLayout layout;
        TickConverter tick;
        int volume_decimals = 0; ///< as BarMetadata::volume_decimals
        BelowZero below_zero = BelowZero::refused;
        bool sides = false; ///< keep the volumes at the bid and at the ask
        ContractFilter contract_filter;
        bool labels = false;             ///< ignore UTC offsets and use the label as is
        std::size_t rejected_limit = 10; ///< how many rejected rows are described; all are counted
    };

    explicit RowParser(Settings settings) : settings_(std::move(settings)) {}
    const FileLayout& layout() const noexcept { return settings_.layout; }
    /// Clears `block` and parses whole lines into it. Precondition: text.size() < 2^32.
    void parse(std::string_view text, ParsedBlock& block) const;
    /// Statistics of the rows whose time can be parsed. A distance is between consecutive rows of a contract,
    /// in either direction; equal times are not counted.
    struct Times {
        std::uint64_t rows = 0;
        std::uint64_t backwards = 0;       ///< earlier than the previous row of their contract
        std::uint64_t forwards = 0;        ///< later than it
        std::uint64_t at_midnight = 0;     ///< local time 00:00:00
        std::uint64_t short_distances = 0; ///< less than `day` seconds
        std::uint64_t day_distances = 0;   ///< the others
        std::int64_t shortest_distance = std::numeric_limits<std::int64_t>::max();
        bool has_offset = false;
        std::vector<Stamp> first; ///< of the first rows, at most times_limit
    };
    static constexpr std::size_t times_limit = 4096;
    /// Minimum distance in seconds of day bars. Those stamped at the close are 20 hours apart around early
    /// closes; intraday bars are never all this far apart.
    static constexpr std::int64_t day = std::int64_t{18} * 3600;
    Times count_times(std::string_view text) const;
    /// The names in the contract column, each once. Precondition: the layout has such a column.
    std::vector<std::string> contracts_in(std::string_view text) const;
    /// Whether a row has a volume other than 0.
    bool has_volume(std::string_view text) const;
    /// Whether there are rows and none has a volume.
    bool lacks_volumes(std::string_view text) const;
    /// Collects prices to infer the tick from: those of the selected contracts, except rows with a price of
    /// 0.
    void collect_prices(std::string_view text, std::vector<Decimal>& prices) const;

  private:
    class Pass;
    Settings settings_;
};

/// Splits the text at line ends into blocks of about 256 KiB, the amount one thread parses at a time.
std::vector<std::string_view> split_blocks(std::string_view text);

/// Offsets of every newline and delimiter, in order; a text that does not end in a newline gets an extra one
/// at text.size(). The result is stored in `memory`, which grows as needed.
std::span<const std::uint32_t> find_separators(std::string_view text, char delimiter,
                                               std::vector<std::uint32_t>& memory);

/// The row for display: at most 400 bytes.
std::string row_excerpt(std::string_view line);

} // namespace rekindle::market::reading
