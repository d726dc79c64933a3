#include "market_input.h"

#include <rekindle/trainer/predict.h>

#include <nlohmann/json.hpp>

namespace rekindle::cli {

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
    CancellationToken cancellation;
    const InterruptionGuard guard(cancellation);
    const trainer::Prediction prediction = trainer::predict(options, view, cancellation);
    stop_if_requested(cancellation);
    view.finish();

    if (context.messages.json || context.line.text("format") == "json") {
        nlohmann::ordered_json json;
        trainer::to_json(json, prediction);
        context.result(json);
        return ExitStatus::success;
    }
    for (const std::string& line : trainer::describe(prediction))
        context.output.line(line);
    return ExitStatus::success;
}

} // namespace rekindle::cli
