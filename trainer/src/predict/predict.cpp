#include "instrument_model.h"
#include "model_match.h"
#include "usable_model.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/profile_output.h>
#include <rekindle/market/usual_hours.h>
#include <rekindle/trainer/forecast.h>
#include <rekindle/trainer/instrument.h>
#include <rekindle/trainer/network.h>
#include <rekindle/trainer/predict.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <unistd.h>

namespace rekindle::trainer {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array keys_of_hours{"zone", "day_start", "regular_hours"};

/// Returns the keys that the user gave, without zone and hours if these only describe the model's sessions in
/// another zone. The user may have given that zone for the timestamps.
std::set<std::string> without_same_hours(const PredictOptions& options, TrainConfig& config) {
    std::set<std::string> given = options.given;
    TrainConfig changed = config;
    const auto take = [&](const char* key, auto TrainConfig::*field) {
        if (given.contains(key))
            changed.*field = options.input.*field;
    };
    take("zone", &TrainConfig::zone);
    take("day_start", &TrainConfig::day_start);
    take("regular_hours", &TrainConfig::regular_hours);
    if (!market::same_hours(session_rules(changed), session_rules(config)))
        return given;
    if (given.contains("zone") && !given.contains("stamp_zone") && config.stamp_zone.empty() &&
        config.clock == market::Clock::exchange && changed.zone != config.zone)
        config.stamp_zone = changed.zone;
    for (const char* key : keys_of_hours)
        given.erase(key);
    return given;
}

/// The run's rules with the user's data; a rule that differs is refused by name.
TrainConfig prediction_config(const PredictOptions& options, const TrainConfig& stored) {
    session_rules(options.input); // a misspelled zone is not a rule of any model
    Json requested;
    to_json(requested, options.input);
    TrainConfig config = stored;
    const std::set<std::string> given = without_same_hours(options, config);
    for (const Setting& setting : settings()) {
        const std::string key = setting.key();
        if (!given.contains(key) || (key == "instrument" && options.input.instrument == "auto"))
            continue;
        TrainConfig changed = config;
        Json one = Json::object();
        one[key] = requested[key];
        update_from_json(one, changed);
        refuse_other_meaning(setting, config, changed, options.model);
        config = std::move(changed);
    }
    if (options.given.contains("stamp_zone") && config.clock != market::Clock::exchange)
        throw usage_error("timestamps have a zone only if they are read as local time")
            .at("--stamp-zone")
            .expected("--clock exchange with it");
    if (options.given.contains("data"))
        config.chain = options.input.chain; // the training files being one history says nothing about others
    config.data_fraction = 1.0;
    return config;
}

void add_interval(Prediction& prediction, const UsableModel& model) {
    const TargetMeaning& meaning = model.stored.meaning;
    prediction.baseline = meaning.is_probability() ? model.stored.training_share_up : meaning.center;
    prediction.baseline_name = meaning.is_probability()   ? "share of rises in training"
                               : meaning.is_directional() ? "zero return"
                                                          : "mean in training";
    if (!model.evaluated) {
        prediction.interval_low = prediction.interval_high = std::numeric_limits<double>::quiet_NaN();
        if (meaning.is_probability())
            prediction.baseline = std::numeric_limits<double>::quiet_NaN();
        prediction.notes.emplace_back("The file has no validation scores: there is no interval, and whether "
                                      "the model has an edge is unknown.");
        return;
    }
    const Evaluation& evaluation = model.stored.evaluation;
    const Interval interval = prediction_interval(evaluation, meaning.is_probability(), prediction.value);
    prediction.interval_low = interval.low;
    prediction.interval_high = interval.high;
    prediction.interval_level = evaluation.interval_level;
    prediction.verdict = evaluation.verdict.text();
    if (prediction.value == interval.low || prediction.value == interval.high)
        prediction.notes.emplace_back(
            meaning.is_probability()
                ? "The validation rows with the most similar predictions rose less or more often than "
                  "predicted; the interval extends from their share to the prediction."
                : "Nearly all validation outcomes were on one side of their predictions; the interval "
                  "extends from there to the prediction.");
}

market::FeatureMatrix named_features(const market::Scaler& scaler, bool per_bar, const TrainConfig& config,
                                     const MarketData& data, ThreadPool& pool, const Workspace& workspace,
                                     const fs::path& model) {
    try {
        return build_named_features(scaler.features, per_bar, config, data, pool, workspace);
    } catch (Error& error) {
        if (error.where().empty())
            error.at(model.string());
        throw;
    }
}

/// Decimals that prices of this tick have, at most 9.
int decimals_of(double tick) {
    int decimals = 0;
    for (double scaled = tick; decimals < 9 && std::abs(scaled - std::round(scaled)) > 1e-6; scaled *= 10)
        ++decimals;
    return decimals;
}

/// Index of the session that contains the bar.
std::size_t session_of_bar(const MarketData& data, std::size_t bar) {
    const auto& sessions = data.plan.sessions;
    const auto after = std::upper_bound(sessions.begin(), sessions.end(), bar,
                                        [](std::size_t b, const market::Session& s) { return b < s.first; });
    return static_cast<std::size_t>(after - sessions.begin()) - 1;
}

/// The bar or session that a row was made from.
struct Origin {
    std::size_t session = 0;
    std::int64_t timestamp = 0; ///< end of its last bar
    market::Ticks close = 0;
};

Origin origin_of(const MarketData& data, std::size_t source, bool bar) {
    if (bar) {
        const auto& columns = data.read.bars.columns();
        return {session_of_bar(data, source), columns.time[source], columns.close[source]};
    }
    const market::SessionSummary& summary = data.summaries[source];
    return {source, summary.end_time, static_cast<market::Ticks>(summary.close)};
}

/// Seconds from the timestamp to the end of its session, if it ends at the same local time as the one before.
std::optional<std::int64_t> seconds_to_end(const MarketData& data, const Origin& origin) {
    const bool clock = !data.session_rules.raw_labels && !data.read.bars.metadata().dates_only;
    if (!clock || origin.session == 0 || data.session_rules.length != market::SessionLength::day)
        return std::nullopt;
    const auto zone = market::ZoneClock::load(data.session_rules.zone);
    const market::SessionSummary& before = data.summaries[origin.session - 1];
    const std::int64_t days = data.summaries[origin.session].date - before.date;
    return zone.to_local(before.end_time) + days * market::day_seconds - zone.to_local(origin.timestamp);
}

void note_end_of_session(const MarketData& data, const Origin& origin, const TargetMeaning& meaning,
                         Prediction& prediction) {
    if (!meaning.per_bar || meaning.across_sessions)
        return;
    const market::SessionSummary& session = data.summaries[origin.session];
    const auto ahead = static_cast<std::int64_t>(meaning.horizon) * data.read.bars.metadata().bar_seconds;
    const auto left = seconds_to_end(data, origin);
    if (data.plan.sessions[origin.session].complete && session.end_time == origin.timestamp)
        prediction.notes.emplace_back("This is the last bar of its session, and the model never learned "
                                      "across sessions: the prediction is for continued trading, not for the "
                                      "next session (train with --across-sessions for that).");
    else if (left && *left < ahead)
        prediction.notes.push_back(
            fmt::format("The previous session ended {} after this time of day, less than the {} that the "
                        "target looks ahead.",
                        format_duration(static_cast<double>(std::max<std::int64_t>(0, *left))),
                        format_duration(static_cast<double>(ahead))));
}

/// Why a prediction does not start at the last bar of the data.
void note_later_bars(const MarketData& data, const Origin& origin, bool per_bar, Prediction& prediction) {
    const market::BarColumns& columns = data.read.bars.columns();
    if (columns.time.back() <= origin.timestamp)
        return;
    const auto later =
        columns.time.end() - std::upper_bound(columns.time.begin(), columns.time.end(), origin.timestamp);
    const std::string bars = counted(later, "later bar is", "later bars are");
    if (data.summaries.back().end_time > origin.timestamp)
        prediction.notes.push_back(
            fmt::format("The data continues to {}: {} skipped, because a feature has no value there.",
                        prediction.data_end, bars));
    else if (per_bar)
        prediction.notes.push_back(
            fmt::format("The data continues to {}: {} outside the sessions of the model.",
                        prediction.data_end, counted(later, "later bar is", "later bars are")));
    else
        prediction.notes.push_back(fmt::format("The data continues to {}, in a session that is not over: the "
                                               "prediction starts at the last complete one, and {} not used.",
                                               prediction.data_end, bars));
}

/// A VIX that no longer changes probably ended before the bars.
void note_stale_vix(const MarketData& data, const market::Scaler& scaler, Prediction& prediction) {
    constexpr std::size_t sessions = 5;
    const bool used =
        std::ranges::any_of(scaler.features, [](const std::string& name) { return name.starts_with("vix"); });
    const std::size_t count = data.summaries.size();
    if (!used || count <= sessions)
        return;
    const double last = data.summaries.back().vix;
    const auto same = [&](const market::SessionSummary& summary) { return summary.vix == last; };
    if (std::all_of(data.summaries.end() - sessions, data.summaries.end(), same))
        prediction.notes.push_back(fmt::format(
            "The VIX is {:g} in all of the last {} sessions: does its source end before the bars?", last,
            sessions));
}

/// The column file of a chunked prediction, in the folder for temporary files; removed at the end.
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

/// The column files of the instruments, which load_markets() names after the given one.
class ColumnFiles {
  public:
    explicit ColumnFiles(const fs::path& file) : file_(file) {}
    ColumnFiles(const ColumnFiles&) = delete;
    ColumnFiles& operator=(const ColumnFiles&) = delete;
    ~ColumnFiles() {
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(file_.parent_path(), ignored))
            if (entry.path().filename().string().starts_with(file_.stem().string() + "-"))
                fs::remove(entry.path(), ignored);
    }

  private:
    fs::path file_;
};

/// A model and the bars of one instrument or several.
struct ModelAndBars {
    UsableModel model;
    TrainConfig config;
    ScratchFile columns;
    ColumnFiles files{columns.path()};
    ThreadPool pool;
    std::vector<MarketData> markets;

    ModelAndBars(const PredictOptions& options, ProgressSink& progress, const CancellationToken& cancellation,
                 const BarReader& read_bars);
};

/// A model and the features that it computes from the data of one instrument.
struct ModelOnData {
    const MarketData& data;
    UsableModel model;                    ///< of the instrument
    std::vector<float> instrument_inputs; ///< as in InstrumentModel
    market::FeatureMatrix matrix;
    Prediction prediction; ///< already holds what the checks found

    ModelOnData(ModelAndBars& all, const MarketData& data, const PredictOptions& options);
    const TargetMeaning& meaning() const { return model.stored.meaning; }
    /// The forecasts of every network for rows of scaled features, one vector per network.
    std::vector<std::vector<Forecast>> forecasts(std::span<const float> features) const;

  private:
    ModelOnData(ModelAndBars& all, const MarketData& data, const PredictOptions& options,
                InstrumentModel instrument);
};

TrainConfig config_for(const UsableModel& model, const PredictOptions& options) {
    TrainConfig config = prediction_config(options, model.stored.config);
    if (model.stored.profile_bin > 0 && config.tick == "auto")
        config.tick = "none:" + shortest(model.stored.profile_bin);
    return config;
}

ModelAndBars::ModelAndBars(const PredictOptions& options, ProgressSink& progress,
                           const CancellationToken& cancellation, const BarReader& read_bars)
    : model(load_usable_model(options)), config(config_for(model, options)),
      pool(static_cast<std::size_t>(config.threads)),
      markets(load_markets(config, columns.path(), pool, progress, cancellation,
                           model.stored.meaning.per_bar ? LastSession::as_it_is : LastSession::when_complete,
                           read_bars, stored_ticks(model.stored))) {}

ModelOnData::ModelOnData(ModelAndBars& all, const MarketData& own, const PredictOptions& options)
    : ModelOnData(all, own, options, model_of_instrument(all.model, own, options.model)) {}

ModelOnData::ModelOnData(ModelAndBars& all, const MarketData& own, const PredictOptions& options,
                         InstrumentModel instrument)
    : data(own), model(std::move(instrument.model)),
      instrument_inputs(std::move(instrument.instrument_inputs)) {
    prediction.name = data.instrument;
    prediction.notes = model.notes;
    prediction.bar_length = market::BarLength::of(data.read.report.spacing).text();
    prediction.instrument = instrument_title(instrument_of(data));
    if (!prediction.instrument.starts_with(data.instrument)) // files that name no contract
        prediction.instrument = fmt::format("{} ({})", data.instrument, prediction.instrument);
    require_matching_data(model, data, options.model, options.other_instrument, prediction.notes);
    matrix = named_features(model.stored.scaler, meaning().per_bar, all.config, data, all.pool,
                            workspace_of(all.config, all.columns.path().parent_path()), options.model);
}

/// Appends the instrument's inputs to each row of features.
std::vector<float> with_instrument(std::span<const float> features, std::size_t columns,
                                   const std::vector<float>& instrument_inputs) {
    std::vector<float> inputs;
    for (std::size_t begin = 0; begin < features.size(); begin += columns) {
        const auto row = features.subspan(begin, columns);
        inputs.insert(inputs.end(), row.begin(), row.end());
        inputs.insert(inputs.end(), instrument_inputs.begin(), instrument_inputs.end());
    }
    return inputs;
}

std::vector<std::vector<Forecast>> ModelOnData::forecasts(std::span<const float> features) const {
    const std::vector<float> inputs = with_instrument(features, matrix.columns(), instrument_inputs);
    mlp::TrainingSpec spec;
    spec.loss = meaning().loss;
    mlp::Engine engine = engine_with(model.stored.model, spec, model.parameters);
    const double error = model.stored.forecasts ? model.stored.forecasts->training_error : 0;
    if (model.networks.empty())
        return {forecasts_of(engine, meaning(), error, inputs)};
    std::vector<std::vector<Forecast>> all;
    for (const auto& network : model.networks) {
        engine.set_parameters(network);
        all.push_back(forecasts_of(engine, meaning(), error, inputs));
    }
    return all;
}

Prediction predict_last(ModelOnData job) {
    const MarketData& data = job.data;
    const TargetMeaning& meaning = job.meaning();
    const std::size_t last = job.matrix.rows() - 1;
    const std::vector<float> row = job.model.stored.scaler.transform_row(job.matrix.row(last));
    const auto forecasts = job.forecasts(row);
    const Origin origin = origin_of(data, job.matrix.source[last], meaning.per_bar);

    Prediction prediction = std::move(job.prediction);
    prediction.target = meaning.text();
    prediction.probability = meaning.is_probability();
    prediction.what = meaning.kind == market::TargetKind::barrier
                          ? "Probability that the upper barrier is reached first"
                      : meaning.is_probability() ? "Probability of a rise rather than a fall"
                      : meaning.is_directional() ? "Predicted log return"
                                                 : "Predicted volatility";
    prediction.is_return = meaning.is_directional() && !meaning.is_probability();
    prediction.per_bar = meaning.per_bar;
    prediction.from_session = market::format_date(data.summaries[origin.session].date);
    prediction.from_timestamp = timestamp_text(origin.timestamp, data);
    prediction.data_end = timestamp_text(data.read.bars.columns().time.back(), data);
    prediction.value = mean_forecast(forecasts, 0).value;
    prediction.networks = forecasts.size();
    prediction.spread = spread_of(forecasts, 0);
    // Through its shortest decimal text: 248574 ticks of 0.01 are 2485.74, not 2485.7400000000002.
    const market::TickSize tick = data.read.report.tick;
    prediction.price = std::stod(market::price_text(static_cast<double>(origin.close), tick));
    prediction.price_decimals = decimals_of(tick.points);
    prediction.data_notes = data.read.report.notes;
    note_later_bars(data, origin, meaning.per_bar, prediction);
    note_end_of_session(data, origin, meaning, prediction);
    note_stale_vix(data, job.model.stored.scaler, prediction);
    add_interval(prediction, job.model);
    return prediction;
}

std::vector<Prediction> predict_read_bars(const PredictOptions& options, ProgressSink& progress,
                                          const CancellationToken& cancellation, const BarReader& read_bars) {
    ModelAndBars all(options, progress, cancellation, read_bars);
    std::vector<Prediction> predictions;
    for (const MarketData& data : all.markets)
        predictions.push_back(predict_last(ModelOnData(all, data, options)));
    return predictions;
}

/// An out-of-sample prediction.
struct PredictedRow {
    std::int64_t known_at = 0;
    std::int32_t session = 0;
    std::size_t instrument = 0;
    bool chosen_on = false; ///< a validation row
    Forecast forecast;
    double outcome = 0, baseline = 0;
};

Error no_forecast_record(const fs::path& model) {
    return usage_error(
               "this model does not record which rows it was trained on, so its out-of-sample rows are "
               "unknown")
        .at(model.string())
        .hint(
            "Train it again with this version; runs of older versions and files of the original system have "
            "no such record.");
}

/// Adds the rows of one instrument that were known when the validation set began or later.
void add_rows(const ModelOnData& job, std::size_t instrument, ThreadPool& pool,
              std::vector<PredictedRow>& rows) {
    const ForecastRecord& record = *job.model.stored.forecasts;
    const auto known = [&](std::size_t row) { return job.data.ends.of(job.matrix.known_at[row]); };
    std::size_t first = job.matrix.rows();
    while (first > 0 && known(first - 1) >= record.validation_from)
        --first;
    const market::Targets targets = build_targets(job.meaning(), job.matrix, job.data);
    const std::size_t block =
        std::max<std::size_t>(64, 65'536 / std::max<std::size_t>(1, job.model.networks.size()));
    for (std::size_t begin = first; begin < job.matrix.rows(); begin += block) {
        const std::size_t end = std::min(begin + block, job.matrix.rows());
        const auto forecasts =
            job.forecasts(job.model.stored.scaler.transform(job.matrix, {begin, end}, pool));
        for (std::size_t row = begin; row < end; ++row)
            rows.push_back({known(row), job.matrix.dates[row], instrument, known(row) <= record.validation_to,
                            mean_forecast(forecasts, row - begin), outcome_of(targets, row),
                            record.training_mean});
    }
}

} // namespace

std::vector<Prediction> predict_each(const PredictOptions& options, ProgressSink& progress,
                                     const CancellationToken& cancellation, const BarReader& read_bars) {
    return predict_read_bars(options, progress, cancellation, read_bars);
}

Prediction predict(const PredictOptions& options, ProgressSink& progress,
                   const CancellationToken& cancellation, const BarReader& read_bars) {
    auto predictions = predict_read_bars(options, progress, cancellation, read_bars);
    if (!predictions.front().name.empty())
        throw usage_error("the model covers several instruments").at(options.model.string());
    return std::move(predictions.front());
}

AllPredictions predict_all(const PredictOptions& options, ProgressSink& progress,
                           const CancellationToken& cancellation, const BarReader& read_bars) {
    ModelAndBars bars(options, progress, cancellation, read_bars);
    const auto record = bars.model.stored.forecasts;
    if (!record)
        throw no_forecast_record(options.model);
    AllPredictions all;
    all.target = bars.model.stored.meaning.text();
    all.table.utc = !bars.markets.front().session_rules.raw_labels;
    std::vector<PredictedRow> rows;
    std::vector<std::string> names;
    for (const MarketData& data : bars.markets) {
        ModelOnData job(bars, data, options);
        add_rows(job, names.size(), bars.pool, rows);
        names.push_back(data.instrument.empty() ? instrument_name(instrument_of(data)) : data.instrument);
        for (std::string& note : job.prediction.notes)
            if (std::ranges::find(all.notes, note) == all.notes.end())
                all.notes.push_back(std::move(note));
    }
    if (rows.empty())
        throw usage_error(fmt::format("no row of this data is later than the training, whose validation set "
                                      "begins {}",
                                      market::format_civil(record->validation_from)))
            .at(options.model.string())
            .hint("Use --data to give bars that extend beyond the training set.");
    std::ranges::stable_sort(rows, {}, &PredictedRow::known_at);
    const std::string seed = bars.model.networks.empty() ? std::to_string(record->seed) : "mean";
    for (const PredictedRow& row : rows) {
        all.validation_rows += row.chosen_on ? 1 : 0;
        all.table.known_at.push_back(row.known_at);
        all.table.session.push_back(row.session);
        all.table.instrument.add(names[row.instrument]);
        all.table.fold.add(row.chosen_on ? validation_fold : "later");
        all.table.seed.add(seed);
        all.table.prediction.push_back(row.forecast.value);
        all.table.sigma.push_back(row.forecast.sigma);
        all.table.outcome.push_back(row.outcome);
        all.table.baseline.push_back(row.baseline);
    }
    return all;
}

std::vector<std::string> describe(const Prediction& p) {
    const bool probability = p.probability;
    // Returns of minutes are hundredths of those of days.
    const double largest = std::max({std::abs(p.value), std::abs(p.interval_low), std::abs(p.interval_high)});
    const int decimals = largest < 1e-3 ? 5 : 3;
    const auto figure = [&](double value) {
        if (std::isnan(value))
            return std::string("unknown");
        if (probability)
            return fmt::format("{:.1f} %", 100 * value);
        return p.is_return ? fmt::format("{:+.{}f} %", 100 * value, decimals)
                           : fmt::format("{:.{}f} %", 100 * value, decimals);
    };
    std::vector<std::string> lines;
    lines.push_back(
        fmt::format("Data: {}{}", p.instrument, p.bar_length.empty() ? "" : ", bars of " + p.bar_length));
    const std::string ended = p.from_timestamp == p.from_session
                                  ? std::string()
                                  : fmt::format("which ended {}, ", p.from_timestamp);
    lines.push_back(p.per_bar ? fmt::format("Target: {}, seen from the bar that ended {} (close {})",
                                            p.target, p.from_timestamp, counted(p.price, "point"))
                              : fmt::format("Target: {}, seen from the session of {} ({}close {})", p.target,
                                            p.from_session, ended, counted(p.price, "point")));
    lines.push_back(fmt::format("{}: {}", p.what, figure(p.value)));
    if (!std::isnan(p.interval_low))
        lines.push_back(fmt::format("{:.0f} % interval: {} to {}", 100 * p.interval_level,
                                    figure(p.interval_low), figure(p.interval_high)));
    if (p.networks > 1)
        lines.push_back(fmt::format("Mean of {}, whose predictions have a standard deviation of {}",
                                    counted(p.networks, "network"),
                                    probability ? fmt::format("{:.1f} %", 100 * p.spread)
                                                : fmt::format("{:.{}f} %", 100 * p.spread, decimals)));
    if (p.is_return && !std::isnan(p.interval_low))
        lines.push_back(fmt::format("As a price: {:.{}f} points ({:.{}f} to {:.{}f})",
                                    p.price * std::exp(p.value), p.price_decimals,
                                    p.price * std::exp(p.interval_low), p.price_decimals,
                                    p.price * std::exp(p.interval_high), p.price_decimals));
    lines.push_back(fmt::format("Baseline: {} ({})", figure(p.baseline), p.baseline_name));
    if (!p.verdict.empty())
        lines.push_back("The model on its validation set: " + p.verdict);
    for (const std::string& note : p.notes)
        lines.push_back("Note: " + note);
    return lines;
}

void to_json(Json& json, const Prediction& p) {
    json = {{"target", p.target}};
    if (!p.name.empty())
        json["name"] = p.name;
    json.update({{"instrument", p.instrument},
                 {"bar_length", p.bar_length},
                 {"from_session", p.from_session},
                 {"from_bar_end", p.from_timestamp},
                 {"data_end", p.data_end},
                 {"value", p.value},
                 {"interval", {p.interval_low, p.interval_high}},
                 {"interval_level", p.interval_level},
                 {"networks", p.networks},
                 {"spread", p.spread},
                 {"baseline", p.baseline},
                 {"baseline_name", p.baseline_name},
                 {"price_points", p.price},
                 {"verdict", p.verdict},
                 {"notes", p.notes}});
    for (const std::string& note : p.data_notes)
        json["notes"].push_back(note);
}

} // namespace rekindle::trainer
