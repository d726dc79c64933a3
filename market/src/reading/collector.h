#pragma once
/// Turns parsed blocks, in order, into rows with instants, and checks their order within each contract.

#include "reading/bar_length.h"
#include "reading/day_stamps.h"
#include "reading/rejects.h"
#include "reading/row_parser.h"
#include "reading/stage.h"
#include "reading/time_conversion.h"
#include "reading/vix.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::market::reading {

/// The state of one contract.
struct CollectedContract {
    std::string name;
    std::uint64_t rows = 0;
    std::int64_t first_time = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_time = std::numeric_limits<std::int64_t>::min();
};

/// Counters over all files.
struct Totals {
    std::uint64_t rows = 0;
    std::uint64_t prices = 0;
    std::uint64_t prices_rounded = 0;
    double largest_rounding = 0;
    std::uint64_t prices_misfit = 0;
    std::uint64_t negative_closes = 0;
    std::uint64_t unknown_volumes = 0;
    std::uint64_t volumes_rounded = 0;
    std::uint64_t small_fractions = 0; ///< as in ParsedBlock
    int volume_decimals = 0;           ///< the most decimals that a volume has
    double largest_daily_volume = 0;   ///< of a UTC day, in stored units
};

/// Receives files one after another, each in blocks from its beginning.
class BarCollector {
  public:
    /// keep_lines: keep line numbers (bars of several files may coincide). Without `convert`, labels are
    /// kept, as they are in files whose timestamps include a UTC offset.
    BarCollector(RowStage& stage, RejectLog& rejects, bool keep_lines, std::optional<LabelConverter> convert)
        : stage_(stage), rejects_(rejects), keep_lines_(keep_lines), convert_(std::move(convert)) {}

    /// newest_first: blocks and their rows are delivered from the end of the file to its beginning. If `days`
    /// is set, the time of a bar is midnight of its date.
    /// Converts times that name their zone to instants, unless `labels` keeps them as they are.
    void begin_file(const std::filesystem::path& path, const FileLayout& layout, bool newest_first,
                    const DayStamps* days = nullptr, bool labels = false);
    /// Adds the next block of the file; modifies it.
    void add(ParsedBlock& block) {
        const std::uint64_t lines = block.lines;
        add_at(block, next_line_);
        next_line_ += lines;
    }
    /// Adds a block whose first line is line `line` of the file; modifies it.
    void add_at(ParsedBlock& block, std::uint64_t line);

    const std::vector<CollectedContract>& contracts() const noexcept { return contracts_; }
    const std::vector<std::string>& other_contracts() const noexcept { return other_contracts_; }
    const Totals& totals() const noexcept { return totals_; }
    const std::vector<Decimal>& misfits() const noexcept { return misfits_; }
    /// The distances between neighboring bars of a contract, one counter for each file.
    const std::vector<DistanceCounter>& distances() const noexcept { return distances_; }
    const DailyValues& vix() const noexcept { return vix_; }
    /// Called if a row turns out to duplicate a row of another file.
    void uncount_row(std::uint16_t contract) noexcept { --contracts_[contract].rows; }
    /// The row at which each file begins.
    const std::vector<std::uint64_t>& file_starts() const noexcept { return file_starts_; }
    /// False if rows are already in chronological order and no two rows have the same time.
    bool needs_ordering() const noexcept { return needs_ordering_; }

  private:
    std::vector<std::uint16_t> global_contracts(const ParsedBlock& block);
    void check_order(ParsedBlock& block, std::vector<RejectedRow>& rejected, std::vector<bool>& dropped);
    RejectedRow describe(const ParsedBlock& block, std::size_t row, std::string reason,
                         std::string expected) const;
    void report(ParsedBlock& block, std::uint64_t line, std::vector<RejectedRow> rejected);

    RowStage& stage_;
    RejectLog& rejects_;
    bool keep_lines_;
    std::optional<LabelConverter> convert_;
    std::optional<LabelConverter> file_convert_; ///< for the zone that the file's times name

    std::filesystem::path path_;
    const FileLayout* layout_ = nullptr;
    bool newest_first_ = false;
    const DayStamps* days_ = nullptr;
    std::uint64_t next_line_ = 1;
    std::vector<std::int64_t> previous_; ///< last time of each contract in this file

    std::vector<CollectedContract> contracts_;
    std::vector<std::string> other_contracts_;
    Totals totals_;
    std::vector<Decimal> misfits_;
    std::vector<DistanceCounter> distances_;
    DailyValues vix_;
    std::vector<std::uint64_t> file_starts_;
    std::int64_t last_time_ = std::numeric_limits<std::int64_t>::min();
    bool needs_ordering_ = false;
    std::int32_t volume_date_ = 0;
    double volume_of_date_ = 0;
};

} // namespace rekindle::market::reading
