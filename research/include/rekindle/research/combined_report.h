#pragma once
/// Combines the reports of training, walk-forward, search and backtest into one, with one verdict.
/// docs/combined-report.md describes how the stages' verdicts determine it.

#include <rekindle/trainer/combined_report.h>

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace rekindle::research {

/// A finished run and its report.json.
struct ReportedRun {
    std::filesystem::path folder;
    trainer::ReportData report;
};

/// Finds the runs in these folders and reads their reports. A folder can be a run itself or contain runs at
/// any depth. Returns each run once, sorted by kind and then by folder. Throws Error (usage) if a folder
/// contains no run, or if a run has no report.json of this version; the error names the command that writes
/// one.
std::vector<ReportedRun> read_reports(std::span<const std::filesystem::path> folders);

/// The verdict on all runs together.
struct CombinedVerdict {
    trainer::Verdict verdict;
    bool has_edge = false;
};

/// The strictest evidence decides: the final parts of walk-forward, if one was opened; otherwise backtest,
/// search and walk-forward, all of which must find an edge. A single split by time never shows an edge by
/// itself, nor does cross-validation. If stages disagree, the verdict says so. Precondition: at least one
/// run.
CombinedVerdict judge_together(std::span<const ReportedRun> runs);

/// Builds the report for the file `page`. Its links are relative to the folder of that file. Throws Error
/// (usage) if the runs read different data (the error names two of them), or if `page` lies in the folder of
/// a run.
trainer::CombinedReport combine(std::vector<ReportedRun> runs, const std::filesystem::path& page);

/// The verdicts, for programs. `page` is the file of the report.
nlohmann::ordered_json verdicts_json(const trainer::CombinedReport& combined, const std::string& page);

} // namespace rekindle::research
