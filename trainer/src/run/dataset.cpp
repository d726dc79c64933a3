#include <rekindle/base/error.h>
#include <rekindle/base/text.h>
#include <rekindle/market/features.h>
#include <rekindle/market/minute_features.h>
#include <rekindle/trainer/dataset.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace rekindle::trainer {

namespace {

using Clock = std::chrono::steady_clock;

/// As a session look-back that is longer leaves nothing to train on.
constexpr std::size_t fewest_rows = 10;

bool per_bar(const TrainConfig& config) {
    return std::find(config.features.begin(), config.features.end(), "minute") != config.features.end();
}

mlp::LossSpec choose_loss(const TrainConfig& config, market::TargetKind kind) {
    const bool label = kind == market::TargetKind::direction || kind == market::TargetKind::original;
    mlp::LossSpec loss;
    loss.huber_delta = config.huber_delta;
    loss.kind = label ? mlp::LossSpec::Kind::bce_with_logits : mlp::LossSpec::Kind::mse;
    if (config.loss == "auto")
        return loss;
    if ((config.loss == "bce") != label)
        throw usage_error(
            fmt::format("the loss {} does not fit the target {}", config.loss,
                        kind == market::TargetKind::original ? "of --compat original" : config.target))
            .at("--loss")
            .expected(label ? "bce" : "mse, huber or gaussian-nll")
            .hint("bce compares a probability with 0 or 1, the other losses compare two returns.");
    if (config.loss == "huber")
        loss.kind = mlp::LossSpec::Kind::huber;
    else if (config.loss == "gaussian-nll")
        loss.kind = mlp::LossSpec::Kind::gaussian_nll;
    return loss;
}

double standard_deviation(std::span<const float> values) {
    double sum = 0, squares = 0;
    for (const float value : values)
        sum += value;
    const double mean = sum / static_cast<double>(values.size());
    for (const float value : values)
        squares += (value - mean) * (value - mean);
    return std::sqrt(squares / static_cast<double>(values.size()));
}

market::Scaler::Kind scaler_kind(const TrainConfig& config) {
    return market::scaler_kind_from_string(config.scaler);
}

void learn_labels(Dataset& set, const Workspace& workspace) {
    const auto train = std::span(set.targets.values)
                           .subspan(set.split.train_begin, set.split.train_end - set.split.train_begin);
    const bool labels = set.meaning.is_probability();
    const auto rises =
        std::count_if(train.begin(), train.end(), [&](float v) { return v > (labels ? 0.5f : 0.0f); });
    set.training_share_up = static_cast<double>(rises) / static_cast<double>(train.size());
    const bool returns = set.meaning.kind == market::TargetKind::next_return ||
                         set.meaning.kind == market::TargetKind::bar_return;
    if (const double deviation = returns ? standard_deviation(train) : 1; deviation > 0)
        set.meaning.scale = deviation;
    set.labels = {set.split.validation_end, workspace.folder};
    for (std::size_t row = 0; row < set.labels.size(); ++row)
        set.labels[row] = static_cast<float>(set.meaning.label(set.targets.values[row]));
}

/// The look-back of the default features before the first row.
constexpr std::size_t longest_look_back = 50;

void require_rows(const market::FeatureMatrix& matrix, std::size_t usable, std::size_t sessions,
                  std::size_t horizon) {
    if (usable >= fewest_rows)
        return;
    const std::size_t needed = longest_look_back + fewest_rows + horizon;
    std::string hint =
        needed > sessions ? fmt::format("The look-backs reach {} sessions back: {} more sessions are needed.",
                                        longest_look_back, needed - sessions)
                          : std::string("Features without a value were left out:");
    for (const std::string& note : matrix.notes)
        hint += "\n  " + note;
    throw usage_error(
        fmt::format("only {} rows with all features and a known outcome are left of {} sessions", usable,
                    sessions))
        .expected(fmt::format("at least {}", fewest_rows))
        .hint(std::move(hint));
}

} // namespace

double TargetMeaning::up_threshold() const noexcept {
    return kind == market::TargetKind::direction || kind == market::TargetKind::original ? 0.5 : 0.0;
}

std::string TargetMeaning::text() const {
    const std::string span = horizon == 1
                                 ? fmt::format("the next {}", per_bar ? "bar" : "session")
                                 : fmt::format("the next {} {}", horizon, per_bar ? "bars" : "sessions");
    if (kind == market::TargetKind::direction)
        return fmt::format("direction of {}, close to close", span);
    return fmt::format("log return of {}, close to close", span);
}

double TargetMeaning::label(double target) const noexcept {
    switch (kind) {
    case market::TargetKind::direction:
        return target;
    case market::TargetKind::original:
        return market::original_probability(target);
    default:
        return target / scale;
    }
}

double TargetMeaning::value(double raw_output) const noexcept {
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    switch (kind) {
    case market::TargetKind::direction:
        return sigmoid(raw_output);
    case market::TargetKind::original:
        return 2 * sigmoid(raw_output) - 1;
    default:
        return raw_output * scale;
    }
}

mlp::Samples Dataset::train() const {
    const std::size_t stride = matrix.columns();
    return {inputs.data() + split.train_begin * stride, stride, labels.data() + split.train_begin,
            split.train_end - split.train_begin};
}

mlp::Samples Dataset::validation() const {
    const std::size_t stride = matrix.columns();
    return {inputs.data() + split.validation_begin * stride, stride, labels.data() + split.validation_begin,
            split.validation_end - split.validation_begin};
}

std::vector<double> Dataset::yesterday() const {
    std::vector<double> result;
    result.reserve(split.validation_end - split.validation_begin);
    for (std::size_t row = split.validation_begin; row < split.validation_end; ++row)
        result.push_back(row >= meaning.horizon ? targets.values[row - meaning.horizon] : 0.0f);
    return result;
}

std::vector<double> Dataset::validation_targets() const {
    return {targets.values.begin() + static_cast<std::ptrdiff_t>(split.validation_begin),
            targets.values.begin() + static_cast<std::ptrdiff_t>(split.validation_end)};
}

Workspace workspace_of(const TrainConfig& config, const std::filesystem::path& folder) {
    if (config.chunk_size == 0)
        return {};
    return {folder, static_cast<std::size_t>(config.chunk_size)};
}

TargetMeaning target_meaning(const TrainConfig& config) {
    TargetMeaning meaning;
    meaning.per_bar = per_bar(config);
    if (config.target == "direction")
        meaning.kind = market::TargetKind::direction;
    else if (config.target == "bar-return")
        meaning.kind = market::TargetKind::bar_return;
    else if (config.compat == "original")
        meaning.kind = market::TargetKind::original;
    const bool ahead = config.target == "bar-return" || (config.target == "direction" && meaning.per_bar);
    meaning.horizon = ahead ? static_cast<std::size_t>(config.target_bars) : 1;
    meaning.loss = choose_loss(config, meaning.kind);
    return meaning;
}

market::FeatureMatrix build_features(const TrainConfig& config, const MarketData& data, ThreadPool& pool,
                                     const Workspace& workspace) {
    if (!per_bar(config))
        return market::session_features(data.summaries, data.read.bars.metadata().tick, config.features,
                                        pool);
    if (config.features.size() > 1)
        throw usage_error(
            "the group minute makes one row per bar and cannot be joined with groups of sessions")
            .at("--features")
            .expected("minute alone, or groups without it");
    return market::minute_features(data.read.bars, data.plan.sessions, pool, workspace);
}

Dataset build_dataset(const TrainConfig& config, const MarketData& data, ThreadPool& pool,
                      ProgressSink& progress, const Workspace& workspace) {
    const auto start = Clock::now();
    Dataset set;
    set.meaning = target_meaning(config);
    set.matrix = build_features(config, data, pool, workspace);
    const market::TargetSpec spec{set.meaning.kind, set.meaning.horizon};
    set.targets = set.meaning.per_bar
                      ? market::bar_targets(set.matrix, data.read.bars, data.plan.sessions, spec, workspace)
                      : market::session_targets(set.matrix, data.summaries, spec);
    const std::size_t usable = set.targets.usable_rows();
    require_rows(set.matrix, usable, data.summaries.size(), spec.horizon());
    const bool original = config.compat == "original";
    set.split = market::split_by_time(
        usable, config.train_split, original ? 0 : static_cast<std::size_t>(config.purge),
        static_cast<std::size_t>(config.embargo), original ? 0 : spec.horizon());
    if (set.split.purge_raised)
        progress.info(fmt::format("--purge was raised to {}, the number of rows that the target looks ahead",
                                  set.split.purge));
    set.scaler = market::Scaler::fit(set.matrix, set.split.train(), scaler_kind(config), pool, workspace);
    set.inputs = set.scaler.transform(set.matrix, {0, usable}, pool, workspace);
    set.matrix.values = {};
    learn_labels(set, workspace);
    for (const std::string& note : set.matrix.notes)
        progress.info(note);
    progress.stage_ended(
        "Building features", std::chrono::duration<double>(Clock::now() - start).count(),
        fmt::format(
            "{} rows of {} features: {} to train on, {} to validate, {} left out in between",
            with_thousands(static_cast<std::int64_t>(usable)), set.matrix.columns(),
            with_thousands(static_cast<std::int64_t>(set.split.train_end)),
            with_thousands(static_cast<std::int64_t>(set.split.validation_end - set.split.validation_begin)),
            set.split.validation_begin - set.split.train_end));
    return set;
}

std::vector<double> predict_values(const mlp::Engine& engine, const TargetMeaning& meaning,
                                   std::span<const float> inputs, std::size_t rows) {
    const std::size_t outputs = engine.model().outputs();
    std::vector<float> raw(rows * outputs);
    engine.predict(inputs.data(), engine.model().inputs, rows, raw);
    std::vector<double> values(rows);
    for (std::size_t row = 0; row < rows; ++row)
        values[row] = meaning.value(raw[row * outputs]);
    return values;
}

namespace {
constexpr std::array<std::pair<market::TargetKind, const char*>, 4> kind_names{
    {{market::TargetKind::next_return, "return"},
     {market::TargetKind::direction, "direction"},
     {market::TargetKind::bar_return, "bar-return"},
     {market::TargetKind::original, "original"}}};
constexpr std::array<std::pair<mlp::LossSpec::Kind, const char*>, 4> loss_names{
    {{mlp::LossSpec::Kind::mse, "mse"},
     {mlp::LossSpec::Kind::huber, "huber"},
     {mlp::LossSpec::Kind::bce_with_logits, "bce"},
     {mlp::LossSpec::Kind::gaussian_nll, "gaussian-nll"}}};

template <class Table, class Kind>
const char* name_of(const Table& table, Kind kind) {
    return std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.first == kind; })
        ->second;
}

template <class Table>
auto kind_of(const Table& table, const std::string& name) {
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.second == name; });
    if (found == table.end())
        throw usage_error(fmt::format("\"{}\" is not known to this version", name))
            .at("the model's metadata");
    return found->first;
}
} // namespace

void to_json(nlohmann::ordered_json& json, const TargetMeaning& m) {
    json = {{"kind", name_of(kind_names, m.kind)},
            {"horizon", m.horizon},
            {"per_bar", m.per_bar},
            {"scale", m.scale},
            {"loss", name_of(loss_names, m.loss.kind)},
            {"huber_delta", m.loss.huber_delta},
            {"text", m.text()}};
}

void from_json(const nlohmann::ordered_json& json, TargetMeaning& m) {
    m.kind = kind_of(kind_names, json.at("kind"));
    m.horizon = json.at("horizon");
    m.per_bar = json.at("per_bar");
    m.scale = json.at("scale");
    m.loss.kind = kind_of(loss_names, json.at("loss"));
    m.loss.huber_delta = json.at("huber_delta");
}

} // namespace rekindle::trainer
