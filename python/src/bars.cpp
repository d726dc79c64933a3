#include "bars.h"

#include "arrow_import.h"
#include "job.h"
#include "market_tables.h"

#include <rekindle/base/thread_pool.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/simulate.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
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
        for (const auto& entry :
             fs::directory_iterator(path_.parent_path(), ignored)) // -0, -1 … of instruments
            if (entry.path() == path_ ||
                entry.path().filename().string().starts_with(path_.stem().string() + "-"))
                fs::remove(entry.path(), ignored);
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
    Bars::Tables imported;
    for (const auto& [path, object] : tables)
        imported.emplace(nb::cast<std::string>(path), import_table(object));
    std::vector<market::ReadOptions> options; // of each instrument, in their order
    std::vector<trainer::MarketData> markets =
        run_job(listener, [&](trainer::ProgressSink& progress, const CancellationToken& cancellation) {
            ThreadPool pool = pool_of(settings.config);
            const ColumnFile file;
            trainer::BarReader reader([&](market::ReadOptions requested, ThreadPool& readers, LogSink& log,
                                          const CancellationToken& cancel, const auto& advanced) {
                requested.tables = imported;
                options.push_back(requested);
                return market::read_bars(requested, readers, log, cancel, advanced);
            });
            reader.tables = imported;
            return trainer::load_markets(settings.config, file.path(), pool, progress, cancellation,
                                         trainer::LastSession::when_complete_or_none, reader);
        });
    std::vector<std::shared_ptr<const InstrumentBars>> instruments;
    for (std::size_t i = 0; i < markets.size(); ++i)
        instruments.push_back(std::make_shared<const InstrumentBars>(
            InstrumentBars{std::move(options.at(i)), std::move(markets[i])}));
    return std::make_shared<Bars>(std::move(settings), std::move(imported), std::move(instruments));
}

/// What was read, as JSON text. With several instruments, `tick` is null unless all have the same.
std::string describe(const Bars& bars) {
    const market::ReadReport& first = bars.instruments().front()->data.read.report;
    Json files = Json::array(), notes = Json::array(), contracts = Json::object(), names = Json::array();
    std::uint64_t rows = 0, rejected = 0, sessions = 0;
    bool synthetic = false, same_tick = true;
    for (const auto& instrument : bars.instruments()) {
        const trainer::MarketData& data = instrument->data;
        const market::ReadReport& report = data.read.report;
        if (bars.several())
            names.push_back(data.instrument);
        for (const fs::path& file : report.files)
            if (std::ranges::find(files, Json(file.string())) == files.end())
                files.push_back(file.string());
        for (const auto* list : {&report.notes, &data.plan.notes})
            for (const std::string& note : *list)
                notes.push_back(bars.several() ? data.instrument + ": " + note : note);
        for (const market::ContractRows& contract : report.contracts)
            contracts[contract.name.empty() ? data.instrument : contract.name] = contract.rows;
        rows += report.rows;
        rejected += report.rejected;
        sessions += data.summaries.size();
        synthetic = synthetic || report.synthetic;
        same_tick = same_tick && report.profile_bin == 0 && report.tick.points == first.tick.points;
    }
    return Json{{"format", first.format},
                {"instruments", names},
                {"files", files},
                {"rows", rows},
                {"rejected", rejected},
                {"tick", same_tick ? Json(first.tick.points) : Json(nullptr)},
                {"tick_text", market::tick_text(first)},
                {"bar_length", market::BarLength::of(first.spacing).text()},
                {"contracts", contracts},
                {"sessions", sessions},
                {"synthetic", synthetic},
                {"data_hash", first.data_hash.hex()},
                {"notes", notes}}
        .dump();
}

std::string config_text(const Bars& bars) {
    Json json;
    trainer::to_json(json, bars.settings().config);
    return json.dump();
}

Table rejected_table(const Bars& bars) {
    std::vector<market::RejectedRow> rows;
    for (const auto& instrument : bars.instruments())
        for (const market::RejectedRow& row : instrument->data.read.rejected)
            if (std::ranges::none_of(rows, [&](const market::RejectedRow& other) {
                    return other.file == row.file && other.line == row.line && other.column == row.column;
                }))
                rows.push_back(row);
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

const trainer::MarketData& Bars::data() const {
    if (!several())
        return instruments_.front()->data;
    std::vector<std::string> names;
    for (const auto& instrument : instruments_)
        names.push_back(instrument->data.instrument);
    throw usage_error("these are the bars of several instruments")
        .expected(fmt::format("one of them, such as bars[\"{}\"]; bars.instruments lists the names",
                              names.front()));
}

std::shared_ptr<Bars> Bars::of(const std::string& instrument) const {
    const auto found = std::ranges::find_if(
        instruments_, [&](const auto& one) { return several() && one->data.instrument == instrument; });
    if (found == instruments_.end())
        throw usage_error(fmt::format("there is no instrument \"{}\"", instrument))
            .expected("one of bars.instruments");
    const market::ReadOptions& options = (*found)->options;
    Settings own = settings_;
    own.config =
        trainer::config_of_instrument(settings_.config, instrument, options.exact_contracts, options.paths);
    if (own.config.tick.find('=') != std::string::npos)
        own.config.tick = trainer::value_for(settings_.config.tick, instrument).value_or("auto");
    own.config.several_instruments = trainer::SeveralInstruments::no;
    auto bars = std::make_shared<Bars>(std::move(own), tables_,
                                       std::vector<std::shared_ptr<const InstrumentBars>>{*found});
    bars->taken_ = instrument;
    return bars;
}

trainer::BarReader Bars::reader() const {
    trainer::BarReader reader([this](market::ReadOptions requested, ThreadPool& pool, LogSink& log,
                                     const CancellationToken& cancel, const auto& progress) {
        requested.tables = tables_;
        const bool all_bars =
            requested.exact_contracts.empty() &&
            std::ranges::equal(requested.paths, settings_.config.data,
                               [](const fs::path& a, const std::string& b) { return a == b; });
        if (!taken_.empty() && all_bars) {
            const market::ReadOptions& own = instruments_.front()->options;
            requested.paths = own.paths;
            requested.exact_contracts = own.exact_contracts;
            requested.contract = own.contract;
        }
        for (const auto& instrument : instruments_) {
            market::ReadOptions read = instrument->options;
            read.column_file = requested.column_file;
            if (requested.chunk_size == 0 && requested == read)
                return instrument->data.read;
        }
        return market::read_bars(requested, pool, log, cancel, progress);
    });
    reader.tables = tables_;
    return reader;
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
        .def("__len__",
             [](const Bars& bars) {
                 std::size_t rows = 0;
                 for (const auto& instrument : bars.instruments())
                     rows += instrument->data.read.bars.size();
                 return rows;
             })
        .def("of", &Bars::of, nb::arg("instrument"))
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
