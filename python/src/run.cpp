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

namespace rekindle::python {

namespace nb = nanobind;

namespace {

Table validation_table(trainer::ValidationRows rows, ColumnType time) {
    return Table({own_column("date", ColumnType::date, std::move(rows.dates)),
                  own_column("known_at", time, std::move(rows.known_at)),
                  own_column("prediction", ColumnType::float64, std::move(rows.predicted)),
                  own_column("outcome", ColumnType::float64, std::move(rows.outcome))});
}

nb::dict train(const Bars& bars, const std::string& json, nb::handle listener) {
    const Settings settings = with_settings(bars.settings(), json, "train");
    trainer::TrainOutcome outcome = run_resumable(
        listener, "train", [&](trainer::ProgressSink& progress, const CancellationToken& cancellation) {
            return trainer::train(settings.config, settings.given, progress, cancellation, bars.reader());
        });
    nb::dict result;
    result["folder"] = outcome.run_folder.string();
    result["validation"] = validation_table(std::move(outcome.validation), time_type(bars.data()));
    return result;
}

/// Returns the prediction as JSON text, with null for unknown values.
std::string predict(const std::string& model, const Bars& bars, const std::string& scaler,
                    bool other_instrument, nb::handle listener) {
    const trainer::PredictOptions options{.model = model,
                                          .input = bars.settings().config,
                                          .given = bars.settings().given,
                                          .scaler = scaler,
                                          .other_instrument = other_instrument};
    const trainer::Prediction prediction =
        run_job(listener, [&](trainer::ProgressSink& progress, const CancellationToken& cancellation) {
            return trainer::predict(options, progress, cancellation, bars.reader());
        });
    nlohmann::ordered_json result;
    trainer::to_json(result, prediction);
    result["lines"] = trainer::describe(prediction);
    return result.dump();
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
