#include "research.h"

#include "arrow_import.h"
#include "bars.h"
#include "job.h"
#include "research_tables.h"
#include "rules.h"

#include <rekindle/base/text.h>
#include <rekindle/cli/research_options.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/arrow_table.h>
#include <rekindle/market/table_file.h>
#include <rekindle/research/combined_report.h>
#include <rekindle/research/walk_forward.h>
#include <rekindle/trainer/market_data.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <string_view>
#include <tuple>
#include <utility>

namespace rekindle::python {

namespace nb = nanobind;

namespace {

using Json = nlohmann::ordered_json;

nb::dict walk_forward(const Bars& bars, const std::string& json, const std::string& rules,
                      nb::handle listener) {
    const Settings settings = with_settings(bars.settings(), json, "walk-forward");
    const auto options =
        cli::walk_forward_options(command_line("walk-forward", settings, rules), effective(settings));
    research::WalkForwardOutcome outcome =
        run_resumable(listener, "walk_forward",
                      [&](trainer::ProgressSink& progress, const CancellationToken& cancellation) {
                          return research::walk_forward(options, progress, cancellation, bars.reader());
                      });
    nb::dict result;
    result["folder"] = outcome.folder.string();
    result["verdict"] = outcome.verdict;
    result["has_edge"] = outcome.has_edge;
    result["lines"] = outcome.score_lines;
    for (const std::string& line : outcome.instrument_lines)
        result["lines"].attr("append")(line);
    result["notes"] = outcome.notes;
    result["predictions"] = prediction_table(std::move(outcome.predictions));
    return result;
}

/// A finished trial in a form that Python can pass between processes.
nb::dict packed(const research::Trial& trial) {
    nb::dict result;
    result["number"] = trial.number;
    result["rung"] = trial.rung;
    result["epochs"] = trial.epochs;
    result["settings"] = trial.settings.dump();
    result["diverged"] = trial.diverged;
    result["loss_saved"] = trial.loss_saved;
    result["timing"] = nb::bytes(trial.timing.data(), trial.timing.size() * sizeof(float));
    result["timing_ratio"] = trial.timing_ratio;
    result["seconds"] = trial.seconds;
    return result;
}

research::Trial unpacked(nb::handle packed) {
    research::Trial trial;
    trial.number = nb::cast<std::uint64_t>(packed["number"]);
    trial.rung = nb::cast<std::int64_t>(packed["rung"]);
    trial.epochs = nb::cast<std::int64_t>(packed["epochs"]);
    trial.settings = Json::parse(nb::cast<std::string>(packed["settings"]));
    trial.diverged = nb::cast<bool>(packed["diverged"]);
    trial.loss_saved = nb::cast<double>(packed["loss_saved"]);
    const auto timing = nb::cast<nb::bytes>(packed["timing"]);
    trial.timing.resize(timing.size() / sizeof(float));
    std::memcpy(trial.timing.data(), timing.c_str(), trial.timing.size() * sizeof(float));
    trial.timing_ratio = nb::cast<double>(packed["timing_ratio"]);
    trial.seconds = nb::cast<double>(packed["seconds"]);
    return trial;
}

/// The number, rung and epochs of a trial.
using TrialKey = std::tuple<std::uint64_t, std::int64_t, std::int64_t>;

/// Lets the Python function `run(description, trials, finished)` run the trials, for example on a cluster.
/// That function calls `finished(results)`, which returns whether to continue.
class PythonTrials final : public research::RemoteTrials {
  public:
    /// Precondition: `run` outlives this object.
    PythonTrials(nb::handle run, JobProgress& progress) : run_(run), progress_(progress) {}

    void run(const std::string& description, std::span<const research::PlannedTrial> trials,
             const std::function<void(std::span<const research::Trial>)>& finished) override {
        std::exception_ptr failure;
        progress_.call([&] {
            nb::list planned;
            for (const research::PlannedTrial& trial : trials)
                planned.append(nb::make_tuple(trial.number, trial.rung, trial.epochs));
            const auto take = [&](const nb::list& results) {
                std::vector<research::Trial> own;
                for (const nb::handle result : results)
                    own.push_back(unpacked(result));
                const nb::gil_scoped_release release;
                try {
                    finished(own);
                } catch (...) { // the store cannot be written; rethrown once Python has returned
                    failure = std::current_exception();
                }
                return failure == nullptr && !progress_.ended();
            };
            run_(description, planned, nb::cpp_function(take));
        });
        if (failure)
            std::rethrow_exception(failure);
    }

  private:
    nb::handle run_;
    JobProgress& progress_;
};

nb::dict search(const Bars& bars, const std::string& json, const std::string& rules, nb::handle listener,
                nb::handle remote) {
    const Settings settings = with_settings(bars.settings(), json, "search");
    research::SearchOptions options =
        cli::search_options(command_line("search", settings, rules), effective(settings));
    const research::SearchOutcome outcome =
        run_resumable(listener, "search", [&](JobProgress& progress, const CancellationToken& cancellation) {
            PythonTrials elsewhere(remote, progress);
            options.remote = remote.is_none() ? nullptr : &elsewhere;
            return research::search(options, progress, cancellation, bars.reader());
        });
    nb::dict result;
    result["folder"] = outcome.folder.string();
    result["finished"] = outcome.trials;
    result["verdict"] = outcome.verdict;
    result["has_edge"] = outcome.has_edge;
    result["lines"] = outcome.lines;
    result["walk_forward"] = outcome.walk_forward;
    result["trials"] = trial_table(outcome.settings);
    return result;
}

research::TrialWorker trial_worker(const Bars& bars, const std::string& description, std::int64_t threads,
                                   const std::string& device, nb::handle listener) {
    return run_job(listener, [&](trainer::ProgressSink& progress, const CancellationToken& cancellation) {
        return research::TrialWorker(description, threads, device, progress, cancellation, bars.reader());
    });
}

nb::list run_trials(research::TrialWorker& worker, const std::vector<TrialKey>& trials, nb::handle listener) {
    std::vector<research::PlannedTrial> planned;
    for (const auto& [number, rung, epochs] : trials)
        planned.push_back({number, rung, epochs});
    const std::vector<research::Trial> finished =
        run_job(listener, [&](trainer::ProgressSink& progress, const CancellationToken& cancellation) {
            return worker.run(planned, progress, cancellation);
        });
    nb::list results;
    for (const research::Trial& trial : finished)
        results.append(packed(trial));
    return results;
}

/// Predictions or positions as CSV text.
struct Signals {
    std::string csv = {};
    std::string option = {}; ///< the program's option for them
    std::string name = {};   ///< what messages call them
};

/// The signals in `table`, which messages call `name`; without a table, those in the file `name`.
Signals signals_of(nb::handle table, const std::string& name) {
    constexpr std::array<std::string_view, 11> columns{"known_at",   "instrument", "fold",       "seed",
                                                       "prediction", "outcome",    "position",   "limit",
                                                       "stop",       "stop_loss",  "take_profit"};
    Signals signals{.name = name};
    if (!table.is_none())
        signals.csv = market::csv_of(import_table(table), columns);
    else
        signals.csv = market::table_text(name);
    std::string_view header(signals.csv);
    while (header.starts_with('#'))
        header.remove_prefix(std::min(header.find('\n'), header.size() - 1) + 1);
    std::string names = "," + lower_case(trim(header.substr(0, header.find('\n')))) + ",";
    for (char& c : names)
        c = c == ';' || c == '\t' ? ',' : c;
    signals.option = names.find(",position,") == std::string::npos ? "predictions" : "positions";
    if (signals.name.empty())
        signals.name = market::memory_path(signals.option).string();
    return signals;
}

nb::dict backtest(const Bars& bars, nb::handle table, const std::string& name, const std::string& json,
                  const std::string& rules, nb::handle listener) {
    Settings settings = with_settings(bars.settings(), json, "backtest");
    if (!settings.given.contains("instrument"))
        settings.config.instrument = "auto"; // the names of contracts determine the costs
    Signals signals = signals_of(table, name);
    Json options = Json::parse(rules);
    options[signals.option] = signals.name;
    research::BacktestJob job =
        cli::backtest_job(command_line("backtest", settings, options.dump()), settings.config);
    if (!signals.csv.empty())
        job.signals_csv = std::move(signals.csv);
    const research::BacktestOutcome outcome =
        run_job(listener, [&](trainer::ProgressSink& progress, const CancellationToken& cancellation) {
            ThreadPool pool(static_cast<std::size_t>(settings.config.threads));
            return research::run_backtest_job(job, {}, pool, progress, cancellation, bars.reader());
        });
    Json figures;
    research::to_json(figures, outcome);
    nb::dict result;
    result["folder"] = job.output.string();
    result["figures"] = figures.dump();
    result["lines"] = research::describe(outcome);
    result["trades"] = trade_table(outcome);
    result["equity"] = equity_table(outcome);
    return result;
}

/// Writes the page; returns the verdicts as JSON text.
std::string report(const std::vector<std::string>& folders, const std::string& page) {
    const std::vector<std::filesystem::path> paths(folders.begin(), folders.end());
    const trainer::CombinedReport combined = research::combine(research::read_reports(paths), page);
    write_file_atomically(page, trainer::render_combined_report(combined));
    return research::verdicts_json(combined, page).dump();
}

} // namespace

void bind_research(nb::module_& module) {
    module.def("walk_forward", &walk_forward, nb::arg("bars"), nb::arg("settings"), nb::arg("rules"),
               nb::arg("listener"));
    module.def("search", &search, nb::arg("bars"), nb::arg("settings"), nb::arg("rules"), nb::arg("listener"),
               nb::arg("remote").none());
    module.def("backtest", &backtest, nb::arg("bars"), nb::arg("table").none(), nb::arg("name"),
               nb::arg("settings"), nb::arg("rules"), nb::arg("listener"));
    module.def("report", &report, nb::arg("folders"), nb::arg("page"),
               nb::call_guard<nb::gil_scoped_release>());
    nb::class_<research::TrialWorker>(module, "TrialWorker")
        .def("run", &run_trials, nb::arg("trials"), nb::arg("listener"));
    module.def("trial_worker", &trial_worker, nb::arg("bars"), nb::arg("description"), nb::arg("threads"),
               nb::arg("device"), nb::arg("listener"));
}

} // namespace rekindle::python
