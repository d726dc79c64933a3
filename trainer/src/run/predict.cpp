#include "network.h"
#include "run_metadata.h"

#include <rekindle/base/error.h>
#include <rekindle/base/file.h>
#include <rekindle/base/text.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/profile_output.h>
#include <rekindle/trainer/model_file.h>
#include <rekindle/trainer/predict.h>
#include <rekindle/trainer/safetensors.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unistd.h>

namespace rekindle::trainer {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Settings of reading that say where the data are, not what a row means.
constexpr std::array free_keys{"data",     "vix",        "columns", "contract", "tick",
                               "bad_rows", "chunk_size", "threads", "device",   "device_ids"};

struct UsableModel {
    StoredModel stored;
    std::vector<mlp::NamedTensor> parameters;
    bool evaluated = true; ///< its validation scores are known
};

/// The run's rules with the user's data; a rule that differs is refused by name.
TrainConfig prediction_config(const PredictOptions& options, const TrainConfig& stored) {
    Json asked, own;
    to_json(asked, options.input);
    to_json(own, stored);
    for (const std::string& key : options.given) {
        const bool free = std::find(free_keys.begin(), free_keys.end(), key) != free_keys.end();
        if (!free && own[key] != asked[key])
            throw usage_error(fmt::format("the model was trained with {} = {}, not {}", key, own[key].dump(),
                                          asked[key].dump()))
                .at(options.model.string())
                .hint("Leave the option out, or train a model with this setting.");
        own[key] = asked[key];
    }
    if (options.given.contains("data") && !options.given.contains("vix"))
        own["vix"] = stored.vix; // the same VIX file goes on unless another is named
    own["data_fraction"] = 1.0;
    TrainConfig config;
    update_from_json(own, config);
    return config;
}

UsableModel load_run(const fs::path& folder) {
    UsableModel model{read_stored_model(folder), {}, true};
    model.parameters = read_safetensors(folder / "best_model.safetensors").tensors;
    return model;
}

market::Scaler read_scaler(const fs::path& path) {
    try {
        return nlohmann::json::parse(read_file(path)).get<market::Scaler>();
    } catch (const nlohmann::json::exception& error) {
        throw usage_error(fmt::format("this is not a scaler: {}", error.what())).at(path.string());
    } catch (Error& error) {
        throw error.at(path.string());
    }
}

UsableModel load_model_file(const PredictOptions& options) {
    UsableModel model{{}, {}, false};
    ImportedModel imported = import_model(options.model);
    model.parameters = std::move(imported.file.parameters);
    if (!imported.needs_scaler) { // written by Rekindle: it tells all that a run folder does
        // Numbers from a pickle are all signed; the text makes counts of them again.
        model.stored = stored_model(Json::parse(imported.file.details.dump()), options.model);
        model.evaluated = true;
        return model;
    }
    model.stored.model = std::move(imported.file.model);
    model.stored.config = options.input;
    if (options.scaler.empty())
        throw usage_error(
            "the file holds no scaler, and without the one of its training the inputs mean nothing")
            .at(options.model.string())
            .hint("Give it with --scaler FILE (docs/formats/scaler.md), or train a model with `rekindle "
                  "train`.");
    model.stored.scaler = read_scaler(options.scaler);
    if (model.stored.scaler.features.size() != model.stored.model.inputs)
        throw usage_error(fmt::format("the scaler has {} features, the network {} inputs",
                                      model.stored.scaler.features.size(), model.stored.model.inputs))
            .at(options.scaler.string());
    model.stored.meaning = target_meaning(options.input);
    return model;
}

/// A 90 % interval of the share of rises among the validation rows whose probability was nearest (Wilson,
/// 1927).
Interval share_interval(const Evaluation& evaluation, double probability) {
    const auto nearest = std::min_element(
        evaluation.calibration.begin(), evaluation.calibration.end(), [&](const auto& a, const auto& b) {
            return std::abs(a.predicted - probability) < std::abs(b.predicted - probability);
        });
    if (nearest == evaluation.calibration.end())
        return {not_a_number, not_a_number};
    constexpr double z = 1.6448536269514722;
    const auto n = static_cast<double>(nearest->rows);
    const double centre = (nearest->actual + z * z / (2 * n)) / (1 + z * z / n);
    const double half =
        z / (1 + z * z / n) * std::sqrt(nearest->actual * (1 - nearest->actual) / n + z * z / (4 * n * n));
    return {centre - half, centre + half};
}

void add_interval(Prediction& prediction, const UsableModel& model) {
    const TargetMeaning& meaning = model.stored.meaning;
    prediction.baseline = meaning.is_probability() ? model.stored.training_share_up : 0;
    prediction.baseline_name = meaning.is_probability() ? "share of rises in training" : "zero return";
    if (!model.evaluated) {
        prediction.interval_low = prediction.interval_high = not_a_number;
        if (meaning.is_probability())
            prediction.baseline = not_a_number;
        prediction.notes.emplace_back("The file tells no validation scores: there is no interval, and "
                                      "whether the model has an edge is unknown.");
        return;
    }
    const Evaluation& evaluation = model.stored.evaluation;
    const Interval interval = meaning.is_probability()
                                  ? share_interval(evaluation, prediction.value)
                                  : Interval{prediction.value + evaluation.residual_quantiles.low,
                                             prediction.value + evaluation.residual_quantiles.high};
    prediction.interval_low = interval.low;
    prediction.interval_high = interval.high;
    prediction.interval_level = evaluation.interval_level;
    prediction.verdict = evaluation.verdict;
}

void require_same_tick(const UsableModel& model, const MarketData& data, const fs::path& path) {
    const double tick = data.read.report.tick.points;
    if (model.evaluated && tick != model.stored.tick)
        throw usage_error(fmt::format("the model was trained with a tick of {:g} points, the data have {:g}",
                                      model.stored.tick, tick))
            .at(path.string())
            .hint(fmt::format("If the tick of the data was inferred wrongly, give --tick {:g}.",
                              model.stored.tick));
}

void require_same_features(const market::Scaler& scaler, const market::FeatureMatrix& matrix,
                           const fs::path& path) {
    if (scaler.features == matrix.names)
        return;
    for (std::size_t i = 0; i < std::max(scaler.features.size(), matrix.names.size()); ++i) {
        const std::string wanted = i < scaler.features.size() ? scaler.features[i] : "nothing";
        const std::string found = i < matrix.names.size() ? matrix.names[i] : "nothing";
        if (wanted != found)
            throw usage_error(
                fmt::format("feature {} of the model is {}, of the data {}", i + 1, wanted, found))
                .at(path.string())
                .hint(fmt::format("{}", fmt::join(matrix.notes, " "))); // too few sessions for a look-back
    }
}

/// The column file of a chunked prediction: beside nothing of the user's, removed at the end.
class ScratchFile {
  public:
    ScratchFile() : path_(fs::temp_directory_path() / fmt::format("rekindle-{}.columns", ::getpid())) {}
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    ~ScratchFile() {
        std::error_code ignored;
        fs::remove(path_, ignored);
    }
    const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

} // namespace

Prediction predict(const PredictOptions& options, ProgressSink& progress,
                   const CancellationToken& cancellation) {
    if (!fs::exists(options.model))
        throw usage_error("there is no such model")
            .at(options.model.string())
            .expected("the folder of a run, or a .pt file");
    const UsableModel model = fs::is_directory(options.model)
                                  ? load_run(RunFolder::open(options.model).path())
                                  : load_model_file(options);
    const TrainConfig config = prediction_config(options, model.stored.config);
    ThreadPool pool(static_cast<std::size_t>(config.threads));
    const ScratchFile columns;
    const MarketData data = load_market_data(config, columns.path(), pool, progress, cancellation);
    require_same_tick(model, data, options.model);
    const market::FeatureMatrix matrix =
        build_features(config, data, pool, workspace_of(config, columns.path().parent_path()));
    require_same_features(model.stored.scaler, matrix, options.model);
    if (matrix.rows() == 0)
        throw usage_error(fmt::format("none of the {} sessions has all features", data.summaries.size()))
            .expected("a longer file, for the look-backs of the features")
            .hint(fmt::format("{}", fmt::join(matrix.notes, " ")));

    const std::size_t last = matrix.rows() - 1;
    const std::vector<float> row = model.stored.scaler.transform_row(matrix.row(last));
    mlp::TrainingSpec spec;
    spec.loss = model.stored.meaning.loss;
    const mlp::Engine engine = engine_with(model.stored.model, spec, model.parameters);

    Prediction prediction;
    prediction.target = model.stored.meaning.text();
    prediction.from_session = market::format_date(matrix.dates[last]);
    prediction.value = predict_values(engine, model.stored.meaning, row, 1).front();
    const market::SessionSummary& summary = data.summaries.back();
    // Through its shortest decimal text: 248574 ticks of 0.01 are 2485.74, not 2485.7400000000002.
    const market::TickSize tick = data.read.report.tick;
    prediction.price = std::stod(market::price_text(static_cast<double>(summary.close), tick));
    if (!model.stored.meaning.per_bar && matrix.source[last] + 1 != data.summaries.size())
        prediction.notes.push_back(
            fmt::format("The newest session, {}, has a feature without a value; the one before it is used.",
                        market::format_date(summary.date)));
    prediction.notes.insert(prediction.notes.end(), data.read.report.notes.begin(),
                            data.read.report.notes.end());
    add_interval(prediction, model);
    return prediction;
}

std::vector<std::string> describe(const Prediction& p) {
    const bool probability = p.target.starts_with("direction");
    const auto figure = [&](double value) {
        if (std::isnan(value))
            return std::string("unknown");
        return probability ? fmt::format("{:.1f} %", 100 * value) : fmt::format("{:+.3f} %", 100 * value);
    };
    std::vector<std::string> lines;
    lines.push_back(fmt::format("Target: {}, seen from the session of {} (close {} points)", p.target,
                                p.from_session, shortest(p.price)));
    lines.push_back(fmt::format("{}: {}", probability ? "Probability of a rise" : "Predicted log return",
                                figure(p.value)));
    if (!std::isnan(p.interval_low))
        lines.push_back(fmt::format("{:.0f} % interval: {} to {}", 100 * p.interval_level,
                                    figure(p.interval_low), figure(p.interval_high)));
    if (!probability && !std::isnan(p.interval_low))
        lines.push_back(fmt::format("As a price: {:.2f} points ({:.2f} to {:.2f})",
                                    p.price * std::exp(p.value), p.price * std::exp(p.interval_low),
                                    p.price * std::exp(p.interval_high)));
    lines.push_back(fmt::format("Baseline: {} ({})", figure(p.baseline), p.baseline_name));
    if (!p.verdict.empty())
        lines.push_back("The model on its validation part: " + p.verdict);
    return lines;
}

void to_json(Json& json, const Prediction& p) {
    json = {{"target", p.target},
            {"from_session", p.from_session},
            {"value", p.value},
            {"interval", {p.interval_low, p.interval_high}},
            {"interval_level", p.interval_level},
            {"baseline", p.baseline},
            {"baseline_name", p.baseline_name},
            {"price_points", p.price},
            {"verdict", p.verdict},
            {"notes", p.notes}};
}

} // namespace rekindle::trainer
