#include "bars.h"

#include "arrow_import.h"
#include "job.h"
#include "market_tables.h"

#include <rekindle/base/thread_pool.h>
#include <rekindle/market/simulate.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <filesystem>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

namespace rekindle::python {

namespace nb = nanobind;
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

/// The column file of bars that are read in blocks. It is memory-mapped, so its name can be removed as soon
/// as it is open.
class ColumnFile {
  public:
    ColumnFile()
        : path_(fs::temp_directory_path() / fmt::format("rekindle-{}-{}.columns", ::getpid(), next_++)) {}
    ColumnFile(const ColumnFile&) = delete;
    ColumnFile& operator=(const ColumnFile&) = delete;
    ~ColumnFile() {
        std::error_code ignored;
        fs::remove(path_, ignored);
    }
    const fs::path& path() const noexcept { return path_; }

  private:
    static inline std::atomic<unsigned> next_{0};
    fs::path path_;
};

ThreadPool pool_of(const trainer::TrainConfig& config) {
    return ThreadPool(static_cast<std::size_t>(config.threads));
}

/// `tables` maps each path that stands for a table in memory to the table.
std::shared_ptr<Bars> read_bars(const std::vector<std::string>& paths, const nb::dict& tables,
                                const std::string& json, nb::handle listener) {
    Settings settings;
    settings.config.data = paths;
    settings.given.insert("data");
    settings = with_settings(std::move(settings), json, "features");
    market::ReadOptions options = trainer::read_options(settings.config, {});
    for (const auto& [path, object] : tables)
        options.tables.emplace(nb::cast<std::string>(path), import_table(object));
    trainer::MarketData data =
        run_job(listener, [&](trainer::ProgressSink& progress, const CancellationToken& cancellation) {
            ThreadPool pool = pool_of(settings.config);
            const ColumnFile file;
            const trainer::BarReader reader = [&](market::ReadOptions requested, ThreadPool& readers,
                                                  LogSink& log, const CancellationToken& cancel,
                                                  const auto& advanced) {
                requested.tables = options.tables;
                return market::read_bars(requested, readers, log, cancel, advanced);
            };
            return trainer::load_market_data(settings.config, file.path(), pool, progress, cancellation,
                                             trainer::LastSession::when_complete_or_none, reader);
        });
    return std::make_shared<Bars>(std::move(settings), std::move(options), std::move(data));
}

Json contracts_json(const market::ReadReport& report) {
    Json contracts = Json::object();
    for (const market::ContractRows& contract : report.contracts)
        contracts[contract.name] = contract.rows;
    return contracts;
}

/// What was read, as JSON text.
std::string describe(const Bars& bars) {
    const trainer::MarketData& data = bars.data();
    const market::ReadReport& report = data.read.report;
    Json files = Json::array();
    for (const fs::path& file : report.files)
        files.push_back(file.string());
    Json notes = report.notes;
    for (const std::string& note : data.plan.notes)
        notes.push_back(note);
    return Json{{"format", report.format},
                {"files", files},
                {"rows", report.rows},
                {"rejected", report.rejected},
                {"tick", report.profile_bin > 0 ? Json(nullptr) : Json(report.tick.points)},
                {"tick_text", market::tick_text(report)},
                {"bar_length", market::BarLength::of(report.spacing).text()},
                {"contracts", contracts_json(report)},
                {"sessions", data.summaries.size()},
                {"synthetic", report.synthetic},
                {"data_hash", report.data_hash.hex()},
                {"notes", notes}}
        .dump();
}

std::string config_text(const Bars& bars) {
    Json json;
    trainer::to_json(json, bars.settings().config);
    return json.dump();
}

Table rejected_table(const Bars& bars) {
    const std::vector<market::RejectedRow>& rows = bars.data().read.rejected;
    std::vector<std::int64_t> lines, columns;
    std::vector<std::int32_t> numbers;
    std::vector<std::string> files, reasons, texts;
    for (const market::RejectedRow& row : rows) {
        numbers.push_back(static_cast<std::int32_t>(numbers.size()));
        files.push_back(row.file.string());
        lines.push_back(static_cast<std::int64_t>(row.line));
        columns.push_back(static_cast<std::int64_t>(row.column));
        reasons.push_back(row.reason);
        texts.push_back(row.text);
    }
    return Table({text_column("file", numbers, std::move(files)),
                  own_column("line", ColumnType::int64, std::move(lines)),
                  own_column("column", ColumnType::int64, std::move(columns)),
                  text_column("reason", numbers, std::move(reasons)),
                  text_column("row", numbers, std::move(texts))});
}

Features features_of(const Bars& bars, const std::string& json, nb::handle listener) {
    const Settings settings = with_settings(bars.settings(), json, "features");
    trainer::require_sessions(bars.data().plan);
    return run_job(listener, [&](trainer::ProgressSink& progress, const CancellationToken&) {
        ThreadPool pool = pool_of(settings.config);
        Features made = feature_table(settings.config, bars.data(), pool);
        for (const std::string& note : made.matrix->notes)
            progress.info(note);
        return made;
    });
}

/// All features as one contiguous array, row by row.
nb::ndarray<nb::numpy, nb::ro, double> matrix_of(const Features& features) {
    auto keeper = std::make_unique<std::shared_ptr<const market::FeatureMatrix>>(features.matrix);
    const nb::capsule owner(keeper.get(), [](void* pointer) noexcept {
        delete static_cast<std::shared_ptr<const market::FeatureMatrix>*>(pointer);
    });
    keeper.release();
    return {features.matrix->values.data(), {features.matrix->rows(), features.matrix->columns()}, owner};
}

Table targets_of(const Bars& bars, const std::string& json, nb::handle listener) {
    const Settings settings = with_settings(bars.settings(), json, "train");
    trainer::require_sessions(bars.data().plan);
    return run_job(listener, [&](trainer::ProgressSink&, const CancellationToken&) {
        ThreadPool pool = pool_of(settings.config);
        return target_table(settings.config, bars.data(), pool);
    });
}

} // namespace

trainer::BarReader Bars::reader() const {
    return [this](market::ReadOptions requested, ThreadPool& pool, LogSink& log,
                  const CancellationToken& cancel, const auto& progress) {
        requested.tables = options_.tables;
        market::ReadOptions read = options_;
        read.column_file = requested.column_file;
        if (requested.chunk_size == 0 && requested == read)
            return data_.read;
        return market::read_bars(requested, pool, log, cancel, progress);
    };
}

void bind_bars(nb::module_& module) {
    module.def(
        "simulate",
        [](std::int64_t bars, std::uint64_t seed, std::int32_t start_date) {
            return bar_table(market::simulate_table({bars, seed, start_date}), ColumnType::instant);
        },
        nb::arg("bars"), nb::arg("seed"), nb::arg("start_date"), nb::call_guard<nb::gil_scoped_release>());
    module.def("read_bars", &read_bars, nb::arg("paths"), nb::arg("tables"), nb::arg("settings"),
               nb::arg("listener"));
    nb::class_<Features>(module, "Features")
        .def("table", [](const Features& features) { return features.table; })
        .def("matrix", &matrix_of);
    nb::class_<Bars>(module, "Bars")
        .def("__len__", [](const Bars& bars) { return bars.data().read.bars.size(); })
        .def("sessions_count", [](const Bars& bars) { return bars.data().summaries.size(); })
        .def("report", &describe)
        .def("config", &config_text)
        .def("table",
             [](const Bars& bars) { return bar_table(bars.data().read.bars, time_type(bars.data())); })
        .def("sessions", [](const Bars& bars) { return session_table(bars.data()); })
        .def("rejected", &rejected_table)
        .def("profile",
             [](const Bars& bars, std::size_t session) { return profile_table(bars.data(), session); })
        .def("nodes",
             [](const Bars& bars, std::size_t session) {
                 NodePrices nodes = node_prices(bars.data(), session);
                 return std::pair(std::move(nodes.high), std::move(nodes.low));
             })
        .def(
            "profiles", [](const Bars& bars) { return all_profiles_table(bars.data()); },
            nb::call_guard<nb::gil_scoped_release>())
        .def("features", &features_of, nb::arg("settings"), nb::arg("listener"))
        .def("targets", &targets_of, nb::arg("settings"), nb::arg("listener"));
}

} // namespace rekindle::python
