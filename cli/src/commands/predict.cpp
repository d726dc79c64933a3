#include "market_input.h"

#include <rekindle/base/text.h>
#include <rekindle/trainer/predict.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <vector>

namespace rekindle::cli {

namespace {

/// The prediction as an object; for a model of several instruments, an object with the list of predictions.
nlohmann::ordered_json json_of(const std::vector<trainer::Prediction>& predictions) {
    auto list = nlohmann::ordered_json::array();
    for (const trainer::Prediction& prediction : predictions)
        trainer::to_json(list.emplace_back(), prediction);
    if (predictions.front().name.empty())
        return list.front();
    return {{"predictions", list}};
}

ExitStatus predict_all(Context& context, const trainer::PredictOptions& options, ProgressView& view,
                       const CancellationToken& cancellation) {
    const std::filesystem::path output = context.line.text("output", "predictions.csv");
    require_other_file(output, options.input);
    const trainer::AllPredictions all = trainer::predict_all(options, view, cancellation);
    stop_if_requested(cancellation);
    trainer::write_predictions(output, all.table);
    view.finish();
    const std::size_t rows = all.table.rows(), later = rows - all.validation_rows;
    if (context.messages.json) {
        context.result({{"output", output.string()},
                        {"target", all.target},
                        {"rows", rows},
                        {"validation_rows", all.validation_rows},
                        {"notes", all.notes}});
        return ExitStatus::success;
    }
    context.output.line(
        fmt::format("wrote {} of the {} to {}", counted(rows, "prediction"), all.target, output.string()));
    context.output.line(fmt::format("{} are in the validation set, whose loss chose the epoch, and {} are "
                                    "later",
                                    with_thousands(static_cast<std::int64_t>(all.validation_rows)),
                                    with_thousands(static_cast<std::int64_t>(later))));
    for (const std::string& note : all.notes)
        context.output.line("Note: " + note);
    return ExitStatus::success;
}

} // namespace

ExitStatus run_predict(Context& context) {
    ProgressView view(context.errors, context.errors, context.messages);
    const EffectiveConfig effective = context.config(view);
    const trainer::PredictOptions options{.model = context.line.text("model"),
                                          .input = effective.config,
                                          .given = effective.given,
                                          .scaler = context.line.text("scaler"),
                                          .other_instrument = context.line.flag("other_instrument")};
    if (!options.scaler.empty() && std::filesystem::is_directory(options.model))
        throw usage_error("--scaler cannot be combined with a run folder, which has its own scaler")
            .expected("one of them");
    if (context.line.has("output") && !context.line.flag("all"))
        throw usage_error("--output has no effect without --all")
            .expected("--all with it")
            .hint("Without --all, the one prediction is printed.");
    CancellationToken cancellation;
    const InterruptionGuard guard(cancellation);
    if (context.line.flag("all"))
        return predict_all(context, options, view, cancellation);
    const std::vector<trainer::Prediction> predictions = trainer::predict_each(options, view, cancellation);
    stop_if_requested(cancellation);
    view.finish();

    if (context.messages.json || context.line.text("format") == "json") {
        context.result(json_of(predictions));
        return ExitStatus::success;
    }
    for (const trainer::Prediction& prediction : predictions) {
        if (&prediction != &predictions.front())
            context.output.line("");
        for (const std::string& line : trainer::describe(prediction))
            context.output.line(line);
    }
    return ExitStatus::success;
}

} // namespace rekindle::cli
