#pragma once
/// One page about all stages of a model: training, walk-forward, search, backtest. See
/// docs/combined-report.md.

#include <rekindle/trainer/report.h>

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::trainer {

struct ReportStage {
    std::string link; ///< to the page of the stage, relative to the combined page
    ReportData report;
};

/// The contents of the combined page.
struct CombinedReport {
    std::string title;    ///< "ES (bars.csv)"
    std::string finished; ///< "2025-03-01 12:00:05 UTC"
    std::string program;  ///< "rekindle 0.1.0"
    Verdict verdict;      ///< on all stages together
    bool has_edge = false;
    std::vector<ReportStage> stages;
};

/// The title of a kind of report: "Training", "Walk-forward", "Search", "Backtest".
std::string_view title_of(ReportKind kind) noexcept;

/// Returns the page: complete HTML without external resources or scripts. All text is escaped.
std::string render_combined_report(const CombinedReport& report);

} // namespace rekindle::trainer
