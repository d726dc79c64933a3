#pragma once
/// report.html, report.json and training_history.png of a run folder. See docs/formats/run-folder-report.md
/// and docs/formats/report-json.md.

#include <rekindle/market/read_bars.h>
#include <rekindle/trainer/chart.h>
#include <rekindle/trainer/progress.h>
#include <rekindle/trainer/scores.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rekindle::trainer {

/// Volume by price of one session.
struct ReportProfile {
    std::string label;           ///< "2025-02-27, ESH5"
    std::vector<double> prices;  ///< points, rising by one tick
    std::vector<double> volumes; ///< contracts or shares at each price
    double point_of_control = 0; ///< points, as are the next three
    double value_area_low = 0;
    double value_area_high = 0;
    double close = 0;
};

struct ReportTable {
    std::string title;
    std::vector<std::string> columns; ///< with units
    std::vector<std::vector<std::string>> rows = {};
    std::string caption = {}; ///< below the table
};

/// A name and what it is, with its unit.
using ReportFact = std::pair<std::string, std::string>;

/// A separate section, after the learning curves.
struct ReportSection {
    std::string title;
    std::vector<Chart> charts;
    std::vector<std::string> sentences; ///< below the charts
    std::vector<ReportTable> tables;
};

/// What a report is about. A combined report shows its stages in this order.
enum class ReportKind { training, walk_forward, search, backtest };
/// "training", "walk-forward", "search", "backtest".
std::string_view name_of(ReportKind kind) noexcept;
/// The command that writes such a report: "train", "walk-forward", "search", "backtest".
std::string_view command_of(ReportKind kind) noexcept;

/// The bars of one instrument that a run read. Two runs with equal inputs read the same data.
struct ReportInput {
    std::string instrument;         ///< root of its contracts, "ES"; "" if the bars name none
    std::vector<std::string> files; ///< names without folders
    std::string hash;               ///< XXH3-128 of the stored bytes, in hexadecimal

    /// "ES (bars.csv)", "bars.csv".
    std::string text() const;
};
ReportInput report_input(const market::ReadReport& read);
/// Into the order of ReportData::inputs, so that reports on the same data have the same list.
void sort_inputs(std::vector<ReportInput>& inputs);

/// The kinds of rows that a verdict can rest on, from the weakest evidence to the strongest.
enum class Evidence {
    single_split,     ///< the validation rows of one split by time
    cross_validation, ///< rows that lie before some of the training rows
    out_of_sample,    ///< rows after the training rows of many models, or trades on such rows
};

/// The verdict on the final part of walk-forward.
struct FinalPart {
    std::string rows; ///< "199 rows from 2015-03-06 to 2018-12-28"
    Evaluation evaluation;
    bool opened_before = false; ///< another run opened it first, so later choices may depend on it
};

/// The contents of the report. Empty parts are omitted from the page.
struct ReportData {
    ReportKind kind = ReportKind::training;
    std::string title;                       ///< "S&P 500, weekly sessions"
    std::string run;                         ///< name of the run folder
    std::string finished;                    ///< "2025-03-01 12:00:05 UTC"
    std::string program;                     ///< "rekindle 0.1.0"
    bool synthetic = false;                  ///< simulated bars: shown next to the title
    std::vector<ReportInput> inputs;         ///< one per instrument, sorted by instrument and hash
    std::string judged;                      ///< "199 validation rows from 2015-03-06 to 2018-12-21"
    std::string row_noun = "validation row"; ///< a judged row, in the singular
    Evidence evidence = Evidence::single_split;
    std::optional<FinalPart> final_part; ///< if walk-forward opened it
    std::string target;                  ///< "log return of the next session"
    std::string target_unit;             ///< of predicted and actual as given: "%", "probability"
    std::string loss_name;               ///< "Huber loss"
    std::string loss_unit;               ///< "nats"; "" if it has none
    Evaluation evaluation;               ///< its calibration is in the unit of the target
    std::string scores_note;      ///< text below the scores; "" for the usual text about a validation set
    double calibration_scale = 1; ///< factor from the calibration's unit to target_unit (100 for %)
    std::vector<EpochMetrics> history;
    std::vector<ReportSection> sections;
    std::vector<ReportProfile> profiles;   ///< last sessions, oldest first
    std::vector<double> predicted, actual; ///< validation rows in chronological order, in target_unit
    std::vector<ReportFact> data;          ///< rows, span, sessions, tick, hash
    std::vector<ReportTable> tables;       ///< sessions, rolls, split
    std::vector<ReportFact> configuration;
    std::vector<StageTime> timings;
    std::vector<std::string> warnings, notes;
};

/// The page: complete HTML without external resources or scripts. All text is escaped.
std::string render_report(const ReportData& data);
/// Writes report.html and report.json into a folder, each atomically.
void write_report(const std::filesystem::path& folder, const ReportData& data);

/// The text of report.json (docs/formats/report-json.md). Figures that are not finite become null.
std::string report_json(const ReportData& data);
/// Reads the text of a report.json. Figures that are null become NaN. Throws Error (usage) if the text is not
/// a report of this version.
ReportData parse_report_json(std::string_view text);

/// Two panels: losses, and the share of directions predicted correctly. `loss_title`: "Huber loss", with its
/// unit.
void write_training_history(const std::filesystem::path& path, std::span<const EpochMetrics> history,
                            const std::string& loss_title = "loss");

/// The charts of the page, for other uses (the terminal, tests).
Chart loss_chart(std::span<const EpochMetrics> history, const std::string& loss_title);
Chart accuracy_chart(std::span<const EpochMetrics> history);
/// Whether lower or higher values are better.
enum class Better { lower, higher };
/// A histogram of the values, with the middle half shaded and the median and the best marked. `noun` names
/// what each value belongs to.
Chart distribution_chart(std::span<const double> values, const std::string& title,
                         const std::string& value_title, Better better, std::string_view noun = "network");
Chart profile_chart(const ReportProfile& profile);
Chart outcome_chart(const ReportData& data);
Chart calibration_chart(const ReportData& data);

} // namespace rekindle::trainer
