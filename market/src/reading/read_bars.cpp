#include "reading/assemble.h"
#include "reading/bar_length.h"
#include "reading/collector.h"
#include "reading/input_files.h"
#include "reading/instruments.h"
#include "reading/newest_first.h"
#include "reading/ordering.h"
#include "reading/report.h"
#include "reading/tick.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/contract_identity.h>
#include <rekindle/market/instruments.h>
#include <rekindle/market/profile_rules.h>
#include <rekindle/market/read_bars.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace rekindle::market::reading {

namespace {

constexpr std::size_t piece_size = 4 << 20; ///< size of the text that is parsed at a time

/// Whether a tick is the usual one, or 2, 3 … times as large.
bool is_multiple(double tick, double usual) {
    const double times = usual > 0 ? tick / usual : 0;
    return times > 0.5 && std::abs(times - std::round(times)) < 1e-9 * times;
}

/// What one pass over the files collects. Another pass follows when the prices need a finer tick.
struct Pass {
    Pass(std::unique_ptr<RowStage> empty_stage, bool skip_bad_rows, bool several_files,
         std::optional<LabelConverter> convert)
        : stage(std::move(empty_stage)), rejects(skip_bad_rows),
          collector(*stage, rejects, several_files, std::move(convert)) {}

    std::unique_ptr<RowStage> stage;
    RejectLog rejects;
    BarCollector collector;
    Hasher hasher;
};

/// Runs all steps of reading.
class BarReader {
  public:
    BarReader(const ReadOptions& options, ThreadPool& pool, const CancellationToken& cancel,
              const std::function<void(std::uint64_t, std::uint64_t)>& progress)
        : options_(options), pool_(pool), cancel_(cancel), progress_(progress) {}

    ReadResult read() {
        check_options();
        paths_ = expand_paths(options_.paths, not_read_);
        files_ = inspect_files(paths_, options_, sample_);
        for (const InputFile& file : files_)
            bytes_total_ += file.bytes;
        decide_stamp();
        dates_only_ = files_.front().days.has_value();
        sides_ = std::ranges::all_of(files_,
                                     [](const InputFile& file) { return file.layout.columns.has_sides(); });
        grid_ = first_grid();
        parse_all();
        while (needs_another_pass())
            parse_all();
        read_vix();
        if (!options_.skip_bad_rows && pass_->rejects.count() > 0)
            throw rejected_error();
        require_rows();
        return finish();
    }

  private:
    void check_options() const {
        if (options_.tick && !TickConverter::is_usable_tick({*options_.tick}))
            throw usage_error(fmt::format("{} is not a valid tick size", shortest(*options_.tick)))
                .at("--tick")
                .expected("a tick size from 1e-9 to 1e9 with at most 9 significant digits");
        if (options_.chunk_size > 0 && options_.column_file.empty())
            throw internal_error("chunk_size needs a column_file");
    }

    /// Sets options_.stamp to what the timestamps of all files mean.
    void decide_stamp() {
        const auto begins = [&](const InputFile& file) {
            return stamp_of(file, options_) == StampAt::bar_start;
        };
        const auto start = std::ranges::find_if(files_, begins);
        const auto end = std::ranges::find_if_not(files_, begins);
        if (start != files_.end() && end != files_.end())
            throw usage_error("the timestamps of this file may mark the end of bars, those of " +
                              start->path.string() + " mark their start")
                .at(end->path.string())
                .expected("files of one format")
                .hint("If all timestamps mark the start of bars, add --stamp start.");
        options_.stamp = start != files_.end() ? StampAt::bar_start : StampAt::bar_end;
    }

    PriceGrid first_grid() const {
        if (options_.tick)
            return {{*options_.tick}};
        if (sample_.empty())
            return {{0.01}}; // no sample row can be read; parsing reports why
        return inferred_grid();
    }

    PriceGrid inferred_grid() const {
        const auto tick = options_.profile_bin ? std::nullopt : infer_tick(sample_);
        if (tick && is_multiple(tick->points, options_.usual_tick))
            return PriceGrid{{options_.usual_tick}};
        return tick ? PriceGrid{*tick} : PriceGrid{step_without_tick(sample_), false};
    }

    /// Whether the last pass found prices that do not fit its assumptions, so that the files must be parsed
    /// again.
    bool needs_another_pass() {
        const Totals& totals = pass_->collector.totals();
        if (totals.negative_closes > 0 && below_zero_ == BelowZero::refused) {
            below_zero_ = BelowZero::adjusted;
            return true;
        }
        if (volume_decimals_ == 0 && totals.small_fractions > 0 &&
            (volume_decimals_ = storable_decimals(totals)) > 0)
            return true;
        if (options_.tick || totals.prices_misfit <= tolerated_misfits(totals.prices))
            return false;
        sample_.insert(sample_.end(), pass_->collector.misfits().begin(), pass_->collector.misfits().end());
        const PriceGrid before = std::exchange(grid_, inferred_grid());
        if (grid_.is_tick ? before.is_tick && grid_.step.points < before.step.points
                          : before.is_tick || grid_.step.points > before.step.points)
            return true;
        grid_ = before;
        return false;
    }

    /// How many decimals of volumes can be kept: all of them, unless the volume of a session could become too
    /// large.
    static int storable_decimals(const Totals& totals) {
        constexpr double days_of_a_session = 8;
        const double most = static_cast<double>(max_profile_volume) / days_of_a_session;
        double largest = totals.largest_daily_volume;
        int decimals = 0;
        while (decimals < std::min(totals.volume_decimals, 9) && (largest *= 10) <= most)
            ++decimals;
        return decimals;
    }

    /// In steps; 0 if prices have a tick.
    Ticks bin_of(const BarColumns& rows) const {
        if (grid_.is_tick)
            return 0;
        if (options_.profile_bin && *options_.profile_bin > 0)
            return static_cast<Ticks>(
                std::max(1.0, std::round(std::min(1e9, *options_.profile_bin / grid_.step.points))));
        constexpr std::size_t most = 1'000'000;
        std::vector<Ticks> closes;
        const std::size_t every = rows.size() / most + 1;
        for (std::size_t row = 0; row < rows.size(); row += every)
            closes.push_back(rows.close[row]);
        return profile_bin(std::move(closes));
    }

    std::size_t expected_rows() const {
        double rows = 1000;
        for (const InputFile& file : files_)
            rows += file.rows > 0
                        ? static_cast<double>(file.rows)
                        : static_cast<double>(file.bytes) * (file.packed ? 4 : 1.03) / file.bytes_per_row;
        return static_cast<std::size_t>(rows);
    }

    std::filesystem::path folder() const {
        return options_.column_file.has_parent_path() ? options_.column_file.parent_path() : ".";
    }

    void parse_all() {
        std::optional<LabelConverter> convert;
        if (options_.clock == Clock::exchange)
            convert.emplace(options_.zone);
        pass_ = std::make_unique<Pass>(options_.chunk_size > 0 ? make_file_stage(folder())
                                                               : make_memory_stage(expected_rows()),
                                       options_.skip_bad_rows, files_.size() > 1, std::move(convert));
        bytes_before_ = 0;
        for (const InputFile& file : files_) {
            parse_file(file);
            bytes_before_ += file.bytes;
        }
    }

    void parse_file(const InputFile& file) {
        const RowParser parser({.layout = file.layout,
                                .tick = TickConverter(grid_),
                                .volume_decimals = volume_decimals_,
                                .below_zero = below_zero_,
                                .sides = sides_,
                                .contract_filter = {options_.contract, options_.exact_contracts},
                                .labels = options_.clock == Clock::raw,
                                .rejected_limit = pass_->rejects.limit()});
        std::size_t target = piece_size;
        if (options_.chunk_size > 0)
            target = static_cast<std::size_t>(
                std::min(static_cast<double>(piece_size),
                         static_cast<double>(options_.chunk_size) * file.bytes_per_row));
        const auto source = open_input(file, pass_->hasher, file.layout.columns.used());
        pass_->collector.begin_file(file.path, file.layout, file.newest_first,
                                    file.days ? &*file.days : nullptr, options_.clock == Clock::raw);
        const auto report_progress = [&] {
            if (cancel_.requested())
                throw Error("interrupted while reading bars", ExitStatus::interrupted);
            if (progress_)
                progress_(bytes_before_ + source->bytes_done(), bytes_total_);
        };
        if (file.newest_first)
            return read_newest_first(*source, parser, piece_size, pool_, pass_->collector, report_progress);
        std::size_t before_rows = file.layout.data_offset;
        for (std::string_view text = source->next(target); !text.empty(); text = source->next(target)) {
            const std::size_t skip = std::min(before_rows, text.size());
            before_rows -= skip;
            parse_piece(parser, text.substr(skip), *source);
            report_progress();
        }
    }

    void parse_piece(const RowParser& parser, std::string_view text, TextSource& source) {
        const auto parts = split_blocks(text);
        blocks_.resize(std::max(blocks_.size(), parts.size()));
        pool_.for_each(parts.size() + 1, [&](std::size_t job) {
            if (job == 0)
                source.prefetch();
            else
                parser.parse(parts[job - 1], blocks_[job - 1]);
        });
        for (std::size_t i = 0; i < parts.size(); ++i)
            pass_->collector.add(blocks_[i]);
    }

    std::vector<std::filesystem::path> all_paths() const {
        auto paths = paths_;
        if (options_.vix)
            paths.push_back(*options_.vix);
        return paths;
    }

    void read_vix() {
        if (options_.vix)
            vix_file_ = read_vix_file(*options_.vix, pass_->rejects);
    }

    Error rejected_error() {
        const Totals& totals = pass_->collector.totals();
        return pass_->rejects.error(all_paths(), totals.rows,
                                    !options_.tick && grid_.is_tick && totals.prices_misfit > 0);
    }

    void require_rows() const {
        if (pass_->collector.totals().rows > 0)
            return;
        const auto& others = pass_->collector.other_contracts();
        if (others.size() == 1 && others.front().empty())
            throw usage_error(fmt::format("no contract begins with \"{}\": {} names no contracts",
                                          options_.contract, files_.front().path.string()))
                .at("--contract")
                .expected("a column or a file name with contracts")
                .hint("Omit --contract to read all rows.");
        if (!others.empty())
            throw usage_error(fmt::format("no contract begins with \"{}\"", options_.contract))
                .at("--contract")
                .expected(fmt::format("the beginning of one of: {}", fmt::join(others, ", ")));
        if (pass_->rejects.count() > 0)
            throw pass_->rejects.error(all_paths(), 0);
        throw usage_error("no rows").at(files_.front().path.string()).expected("at least one bar");
    }

    /// Contracts ordered by their first bar, then by their last, then by appearance.
    std::vector<std::size_t> contracts_in_order() const {
        const auto& contracts = pass_->collector.contracts();
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < contracts.size(); ++i)
            if (contracts[i].rows > 0)
                order.push_back(i);
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return std::tie(contracts[a].first_time, contracts[a].last_time) <
                   std::tie(contracts[b].first_time, contracts[b].last_time);
        });
        return order;
    }

    /// The final order of the rows, empty if they are already in order; in memory or on disk, like the rows
    /// themselves.
    std::span<const std::uint64_t> order_rows(const Assembly& assembly) {
        if (!pass_->collector.needs_ordering())
            return {};
        if (options_.chunk_size > 0)
            order_spool_.emplace(folder());
        else
            order_.reserve(assembly.rows.bars.size());
        merge_rows(
            assembly.rows.bars, assembly.rank,
            [&](std::uint64_t row) {
                if (order_spool_)
                    order_spool_->append(std::as_bytes(std::span(&row, 1)));
                else
                    order_.push_back(row);
            },
            [&](std::uint64_t row, std::uint64_t first) { reject_duplicate(assembly, row, first); });
        if (!order_spool_)
            return order_;
        const auto bytes = order_spool_->map();
        return {reinterpret_cast<const std::uint64_t*>(bytes.data()), bytes.size() / sizeof(std::uint64_t)};
    }

    void reject_duplicate(const Assembly& assembly, std::uint64_t row, std::uint64_t first) {
        const auto& starts = pass_->collector.file_starts();
        const auto file_of = [&](std::uint64_t r) {
            return static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), r) -
                                            starts.begin()) -
                   1;
        };
        const BarColumns& bars = assembly.rows.bars;
        require_same_prices(files_[file_of(first)], files_[file_of(row)], bars, first, row);
        RejectedRow rejected;
        rejected.file = files_[file_of(row)].path;
        rejected.line = assembly.rows.line[row];
        rejected.column = 1;
        rejected.reason =
            fmt::format("a second bar {}at the time of {}:{}", contract_text(bars.contract[row]),
                        files_[file_of(first)].path.string(), assembly.rows.line[first]);
        rejected.expected = "one bar per timestamp";
        pass_->rejects.add(std::move(rejected));
        pass_->collector.uncount_row(bars.contract[row]);
    }

    std::string contract_text(std::uint16_t contract) const {
        const std::string& name = pass_->collector.contracts()[contract].name;
        return name.empty() ? "" : "of contract " + name + " ";
    }

    ReadResult finish() {
        Assembly assembly;
        assembly.rows = pass_->stage->finish();
        const std::vector<std::size_t> contracts = contracts_in_order();
        require_one_instrument(files_, pass_->collector.file_starts(), assembly.rows.bars,
                               pass_->collector.contracts(), options_.chain);
        require_one_bar_length(files_, pass_->collector.distances());
        assembly.rank.resize(pass_->collector.contracts().size());
        for (std::size_t i = 0; i < contracts.size(); ++i) {
            assembly.rank[contracts[i]] = static_cast<std::uint16_t>(i);
            assembly.metadata.contracts.push_back(pass_->collector.contracts()[contracts[i]].name);
        }
        assembly.order = order_rows(assembly);
        if (!options_.skip_bad_rows && pass_->rejects.count() > 0)
            throw rejected_error();
        assembly.metadata.tick = grid_.step;
        assembly.metadata.profile_bin = bin_of(assembly.rows.bars);
        assembly.metadata.volume_decimals = volume_decimals_;
        assembly.metadata.dates_only = dates_only_;
        assembly.metadata.named_like_futures =
            dates_only_ && std::ranges::any_of(files_, [](const InputFile& file) {
                const std::string words = instrument_words(file.path);
                return may_trade_past_the_close(words.substr(0, words.find(' ')));
            });
        for (const InputFile& file : files_)
            if (file.days) {
                assembly.metadata.utc_days |= file.days->utc_days();
                assembly.metadata.day_end_minute =
                    std::max(assembly.metadata.day_end_minute, file.days->end_minute());
            }
        DistanceCounter distances;
        for (const DistanceCounter& of_file : pass_->collector.distances())
            distances.add(of_file);
        spacing_ = distances.spacing();
        const std::int64_t stated_length = dates_only_ ? 0 : stated_bar_length(files_);
        const std::int64_t usual_distance = stated_length > 0 ? stated_length : distances.most_frequent();
        assembly.metadata.bar_seconds = usual_distance > 0 ? usual_distance : dates_only_ ? day_seconds : 60;
        if (options_.stamp == StampAt::bar_start && !dates_only_) {
            if (usual_distance == 0)
                throw usage_error(
                    "cannot determine the bar length from a single bar, whose timestamp is its start")
                    .at(files_.front().path.string())
                    .expected("at least two bars of one contract");
            assembly.time_shift = assembly.metadata.bar_seconds;
        }
        const DailyValues& closes = options_.vix ? vix_file_ : pass_->collector.vix();
        const PublishedSeries series = PublishedSeries::of_daily_closes(closes, dates_only_);
        assembly.vix = closes.empty() ? nullptr : &series;
        BarTable bars = assemble(assembly);
        ReadReport report = make_report(assembly, contracts, bars);
        return {std::move(bars), std::move(report), take_rejected()};
    }

    std::vector<RejectedRow> take_rejected() {
        return options_.skip_bad_rows ? pass_->rejects.take_sorted(all_paths()) : std::vector<RejectedRow>();
    }

    BarTable assemble(const Assembly& assembly) {
        if (options_.chunk_size > 0)
            return assemble_column_file(assembly, options_.column_file);
        return assemble_in_memory(assembly, pass_->stage->take());
    }

    ReadReport make_report(const Assembly& assembly, const std::vector<std::size_t>& contracts,
                           const BarTable& bars) {
        ReadReport report;
        describe_files(files_, report);
        report.rows = bars.size();
        report.rejected = pass_->rejects.count();
        report.prices_rounded = pass_->collector.totals().prices_rounded;
        report.largest_rounding = pass_->collector.totals().largest_rounding;
        report.stamps = options_.stamps();
        report.tick = grid_.step;
        report.tick_inferred = !options_.tick;
        report.volume_decimals = volume_decimals_;
        report.profile_bin = grid_.is_tick ? 0 : assembly.metadata.level().points;
        report.float_spacing = grid_.is_tick ? 0 : hiding_float_spacing(sample_);
        report.bar_seconds = assembly.metadata.bar_seconds;
        report.spacing = spacing_;
        report.first_time = bars.columns().time.front();
        report.last_time = bars.columns().time.back();
        report.bytes = bytes_total_;
        report.data_hash = pass_->hasher.digest();
        for (const std::size_t i : contracts)
            report.contracts.push_back(
                {pass_->collector.contracts()[i].name, pass_->collector.contracts()[i].rows});
        report.closes_below_zero = pass_->collector.totals().negative_closes;
        if (assembly.vix)
            report.vix_source = options_.vix ? "file" : "column";
        add_notes(options_, files_, pass_->collector, report);
        if (!not_read_.empty())
            report.notes.push_back(describe_not_read(not_read_));
        return report;
    }

    ReadOptions options_;
    ThreadPool& pool_;
    const CancellationToken& cancel_;
    const std::function<void(std::uint64_t, std::uint64_t)>& progress_;

    std::vector<std::filesystem::path> paths_;
    std::vector<std::filesystem::path> not_read_; ///< other files of the folders
    std::vector<InputFile> files_;
    std::vector<Decimal> sample_;
    std::uint64_t bytes_total_ = 0;
    std::uint64_t bytes_before_ = 0;
    bool dates_only_ = false;
    bool sides_ = false; ///< every file has volumes at the bid and at the ask
    PriceGrid grid_;
    BarSpacing spacing_;
    BelowZero below_zero_ = options_.negative_prices ? BelowZero::traded : BelowZero::refused;
    int volume_decimals_ = 0;

    std::unique_ptr<Pass> pass_; ///< the last one; set once all files were inspected
    std::vector<ParsedBlock> blocks_;
    DailyValues vix_file_;
    std::vector<std::uint64_t> order_;
    std::optional<NumberSpool> order_spool_;
};

} // namespace

} // namespace rekindle::market::reading

namespace rekindle::market {

std::vector<std::string> first_contracts(const ReadOptions& options) {
    std::vector<std::filesystem::path> not_read;
    std::vector<std::string> names;
    for (const std::filesystem::path& path : reading::expand_paths(options.paths, not_read))
        reading::add_first_contracts(path, options, names);
    return names;
}

ReadResult read_bars(const ReadOptions& options, ThreadPool& pool, LogSink& log,
                     const CancellationToken& cancel,
                     const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    ReadResult result = reading::BarReader(options, pool, cancel, progress).read();
    for (const std::string& note : result.report.notes)
        log.debug(note);
    return result;
}

} // namespace rekindle::market
