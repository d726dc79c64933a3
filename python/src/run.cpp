#include "run.h"

#include "bars.h"
#include "job.h"
#include "market_tables.h"

#include <rekindle/trainer/predict.h>
#include <rekindle/trainer/run_folder.h>
#include <rekindle/trainer/train.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <nanobind/stl/string.h>
#include <set>
#include <utility>

namespace rekindle::python {

namespace nb = nanobind;

namespace {

/// With a column `instrument` if there are several.
Table validation_table(trainer::ValidationRows rows, ColumnType time) {
    std::vector<Column> columns;
    columns.push_back(own_column("date", ColumnType::date, std::move(rows.dates)));
    columns.push_back(own_column("known_at", time, std::move(rows.known_at)));
    if (!rows.instruments.empty()) {
        std::vector<std::int32_t> indices;
        for (std::size_t i = 0; i < rows.instruments.size(); ++i)
            indices.push_back(static_cast<std::int32_t>(i));
        columns.push_back(text_column("instrument", std::move(indices), std::move(rows.instruments)));
    }
    columns.push_back(own_column("prediction", ColumnType::float64, std::move(rows.predicted)));
    columns.push_back(own_column("outcome", ColumnType::float64, std::move(rows.outcome)));
    return Table(std::move(columns));
}

nb::dict train(const Bars& bars, const std::string& json, nb::handle listener) {
    const Settings settings = with_settings(bars.settings(), json, "train");
    trainer::TrainOutcome outcome = run_resumable(
        listener, "train", [&](trainer::ProgressSink& progress, const CancellationToken& cancellation) {
            return trainer::train(settings.config, settings.given, progress, cancellation, bars.reader());
        });
    nb::dict result;
    result["folder"] = outcome.run_folder.string();
    result["validation"] =
        validation_table(std::move(outcome.validation), time_type(bars.instruments().front()->data));
    return result;
}

/// Returns the predictions for all instruments of the bars as JSON text: a list with null for unknown values.
std::string predict(const std::string& model, const Bars& bars, const std::string& scaler,
                    bool other_instrument, nb::handle listener) {
    std::set<std::string> given = bars.settings().given;
    if (!bars.taken().empty()) // the model says whether it is of several instruments
        for (const char* key : {"several_instruments", "instrument", "tick"})
            given.erase(key);
    const trainer::PredictOptions options{.model = model,
                                          .input = bars.settings().config,
                                          .given = std::move(given),
                                          .scaler = scaler,
                                          .other_instrument = other_instrument};
    const std::vector<trainer::Prediction> predictions =
        run_job(listener, [&](trainer::ProgressSink& progress, const CancellationToken& cancellation) {
            return trainer::predict_each(options, progress, cancellation, bars.reader());
        });
    auto results = nlohmann::ordered_json::array();
    for (const trainer::Prediction& prediction : predictions) {
        if (!bars.taken().empty() && !prediction.name.empty() && prediction.name != bars.taken())
            continue; // a model of several instruments predicts all that the source of the bars holds
        nlohmann::ordered_json result;
        trainer::to_json(result, prediction);
        result["lines"] = trainer::describe(prediction);
        results.push_back(std::move(result));
    }
    return results.dump();
}

/// Throws Error (usage) if the folder is not a run folder.
void check_run_folder(const std::string& folder) {
    trainer::RunFolder::open(folder);
}

} // namespace

void bind_run(nb::module_& module) {
    module.def("train", &train, nb::arg("bars"), nb::arg("settings"), nb::arg("listener"));
    module.def("predict", &predict, nb::arg("model"), nb::arg("bars"), nb::arg("scaler"),
               nb::arg("other_instrument"), nb::arg("listener"));
    module.def("check_run_folder", &check_run_folder, nb::arg("folder"));
}

} // namespace rekindle::python
