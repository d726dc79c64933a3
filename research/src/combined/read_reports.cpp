#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/research/combined_report.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <system_error>

namespace rekindle::research {

namespace fs = std::filesystem;

namespace {

using trainer::ReportKind;

struct RunMark {
    const char* file;
    ReportKind kind;
};
/// The file by which the folder of each kind of run is recognized.
constexpr std::array run_marks{
    RunMark{"walk-forward.json", ReportKind::walk_forward}, RunMark{"search.json", ReportKind::search},
    RunMark{"backtest.json", ReportKind::backtest}, RunMark{"config.json", ReportKind::training}};

bool is_there(const fs::path& path) {
    std::error_code code;
    return fs::exists(path, code);
}

std::optional<ReportKind> kind_of(const fs::path& folder) {
    for (const RunMark& mark : run_marks)
        if (is_there(folder / mark.file))
            return mark.kind;
    return std::nullopt;
}

/// The command line that writes the report of this folder.
std::string writing_command(ReportKind kind, const fs::path& folder) {
    const std::string name = shell_word(folder.string());
    return kind == ReportKind::backtest
               ? fmt::format("rekindle backtest with its data, its signals and --output {}", name)
               : fmt::format("rekindle {} --resume-from-checkpoint {}{}", trainer::command_of(kind), name,
                             is_there(folder / "final.json") ? " --final" : "");
}

ReportedRun read_run(const fs::path& folder, ReportKind kind) {
    const fs::path file = folder / "report.json";
    const std::string advice = fmt::format("This command writes it: {}", writing_command(kind, folder));
    if (!is_there(file))
        throw usage_error(is_there(folder / "report.html")
                              ? "an earlier version of rekindle wrote this run, without a report.json"
                              : "the run is not finished: it has no report")
            .at(folder.string())
            .expected("a folder with a report.json")
            .hint(advice);
    try {
        return {folder, trainer::parse_report_json(read_file(file))};
    } catch (Error& error) {
        throw error.at(file.string()).hint(advice);
    }
}

struct RunFolder {
    fs::path folder; ///< as the user named it
    ReportKind kind;
};
/// Keyed by canonical path, so that a folder with two names is one run.
using RunFolders = std::map<fs::path, RunFolder>;

/// Adds `folder` if it is a run, otherwise the runs in it.
void add_runs(const fs::path& folder, RunFolders& found) {
    std::error_code code;
    if (const auto kind = kind_of(folder)) {
        found.try_emplace(fs::weakly_canonical(folder, code), RunFolder{folder, *kind});
        return;
    }
    for (const auto& entry : fs::directory_iterator(folder, code))
        // Skips hidden folders, which are runs that have not begun (trainer's RunFolder), and links, which
        // could form a cycle.
        if (entry.is_directory(code) && !entry.is_symlink(code) &&
            !entry.path().filename().string().starts_with('.'))
            add_runs(entry.path(), found);
}

} // namespace

std::vector<ReportedRun> read_reports(std::span<const fs::path> folders) {
    RunFolders found;
    for (const fs::path& folder : folders) {
        std::error_code code;
        if (!fs::is_directory(folder, code))
            throw usage_error(is_there(folder) ? "this is a file" : "the folder does not exist")
                .at(folder.string())
                .expected("the folder of a run, or one that contains runs");
        fs::path plain = folder.lexically_normal();
        if (plain.filename().empty() && plain.has_relative_path())
            plain = plain.parent_path(); // "runs/" and "runs" are one folder
        RunFolders own;
        add_runs(plain, own);
        if (own.empty())
            throw usage_error("this folder contains no run")
                .at(folder.string())
                .expected("a folder that train, walk-forward, search or backtest wrote, or one that "
                          "contains such folders");
        found.merge(own);
    }
    std::vector<ReportedRun> runs;
    for (const auto& [path, run] : found)
        runs.push_back(read_run(run.folder, run.kind));
    std::ranges::stable_sort(runs, {}, [](const ReportedRun& run) { return run.report.kind; });
    return runs;
}

} // namespace rekindle::research
