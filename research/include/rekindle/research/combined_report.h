#pragma once
/// Combines the reports of training, walk-forward, search and backtest into one, with one verdict.
/// docs/combined-report.md describes how the verdict follows from those of the stages.

#include <rekindle/trainer/combined_report.h>

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

/// Reads the reports of these folders, each of which is a run or contains runs at any depth. Runs are in the
/// order of their kinds, then of their folders, and each of them is there once. Throws Error (usage) if a
/// folder has no run, or if a run has no report.json of this version; the error names the command that
/// writes it.
std::vector<ReportedRun> read_reports(std::span<const std::filesystem::path> folders);

/// The verdict of the whole.
struct CombinedVerdict {
    trainer::Verdict verdict;
    bool has_edge = false;
};

/// The strictest evidence decides: the final parts of walk-forward, if one was opened; otherwise backtest,
/// search and walk-forward, all of which must find an edge. One split by time (and cross-validation) never
/// shows an edge alone. Disagreement is part of the sentence. Precondition: at least one run.
CombinedVerdict judge_together(std::span<const ReportedRun> runs);

/// The combined report for a page in the file `page`, whose links are relative to its folder. Throws Error
/// (usage) if the runs are about different data, naming two that differ, or if `page` is a file of a run.
trainer::CombinedReport combine(std::vector<ReportedRun> runs, const std::filesystem::path& page);

} // namespace rekindle::research
