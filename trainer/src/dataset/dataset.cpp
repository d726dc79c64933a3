#include "build_features.h"

#include <rekindle/foundation/error.h>
#include <rekindle/trainer/dataset.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace rekindle::trainer {

namespace {

mlp::LossSpec choose_loss(const TrainConfig& config, market::TargetKind kind) {
    const bool probability = kind == market::TargetKind::direction || kind == market::TargetKind::original ||
                             kind == market::TargetKind::barrier;
    mlp::LossSpec loss;
    loss.huber_delta = config.huber_delta;
    loss.kind = probability ? mlp::LossSpec::Kind::bce_with_logits : mlp::LossSpec::Kind::mse;
    if (config.loss == LossChoice::automatic)
        return loss;
    if ((config.loss == LossChoice::bce) != probability)
        throw usage_error(fmt::format("the loss {} does not fit the target {}", name_of(config.loss),
                                      kind == market::TargetKind::original ? "of --compat original"
                                                                           : name_of(config.target)))
            .at("--loss")
            .expected(probability ? "bce" : "mse, huber or gaussian-nll")
            .hint("bce compares a probability with 0 or 1, the other losses compare two returns.");
    if (config.loss == LossChoice::huber)
        loss.kind = mlp::LossSpec::Kind::huber;
    else if (config.loss == LossChoice::gaussian_nll)
        loss.kind = mlp::LossSpec::Kind::gaussian_nll;
    return loss;
}

double std_of(std::span<const float> values) {
    double sum = 0, squares = 0;
    for (const float value : values)
        sum += value;
    const double mean = sum / static_cast<double>(values.size());
    for (const float value : values)
        squares += (value - mean) * (value - mean);
    return std::sqrt(squares / static_cast<double>(values.size()));
}

/// The word for a row in the target's name.
const char* row_word(const TargetMeaning& meaning) {
    return meaning.per_bar ? "bar" : meaning.weekly ? "week" : "session";
}

/// Rows [begin, end) of the set.
mlp::Samples samples_of(const Dataset& set, std::size_t begin, std::size_t end) {
    const std::size_t stride = set.matrix.columns();
    return {set.rows->inputs.data() + begin * stride, stride, set.rows->targets.data() + begin, end - begin,
            set.rows};
}

} // namespace

double TargetMeaning::up_threshold() const noexcept {
    return is_probability() || kind == market::TargetKind::original ? 0.5 : 0.0;
}

std::string TargetMeaning::text() const {
    const std::string span = horizon == 1 ? fmt::format("the next {}", row_word(*this))
                                          : fmt::format("the next {} {}s", horizon, row_word(*this));
    const char* limit = per_bar && !across_sessions ? " of the session" : "";
    if (kind == market::TargetKind::direction)
        return fmt::format("direction of {}{}, close to close{}", span, limit,
                           dead_band > 0 ? fmt::format(", beyond ±{:g} %", 100 * dead_band) : "");
    if (kind == market::TargetKind::barrier)
        return fmt::format("first barrier within {}{}", span, limit);
    if (kind == market::TargetKind::volatility)
        return fmt::format("realized volatility of {}{}", span, limit);
    return fmt::format("log return of {}{}, close to close", span, limit);
}

std::string TargetMeaning::previous_text() const {
    const char* row = row_word(*this);
    const char* what = kind == market::TargetKind::barrier      ? "barrier"
                       : kind == market::TargetKind::direction  ? "direction"
                       : kind == market::TargetKind::volatility ? "volatility"
                                                                : "return";
    return horizon == 1 ? fmt::format("the last {}'s {}", row, what)
                        : fmt::format("the last {}-{} {}", horizon, row, what);
}

double TargetMeaning::network_target(double target) const noexcept {
    switch (kind) {
    case market::TargetKind::direction:
    case market::TargetKind::barrier:
        return target;
    case market::TargetKind::original:
        return market::original_probability(target);
    default:
        return (target - center) / scale;
    }
}

double TargetMeaning::value(double raw_output) const noexcept {
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    switch (kind) {
    case market::TargetKind::direction:
    case market::TargetKind::barrier:
        return sigmoid(raw_output);
    case market::TargetKind::original:
        return 2 * sigmoid(raw_output) - 1;
    default:
        return raw_output * scale + center;
    }
}

double TargetMeaning::outcome(double network_target) const noexcept {
    switch (kind) {
    case market::TargetKind::direction:
    case market::TargetKind::barrier:
        return network_target;
    case market::TargetKind::original:
        return 2 * network_target - 1;
    default:
        return network_target * scale + center;
    }
}

void set_scale(TargetMeaning& meaning, std::span<const float> targets) {
    const bool volatility = meaning.kind == market::TargetKind::volatility;
    const bool scaled = volatility || meaning.kind == market::TargetKind::next_return ||
                        meaning.kind == market::TargetKind::bar_return;
    if (volatility)
        meaning.center =
            std::accumulate(targets.begin(), targets.end(), 0.0) / static_cast<double>(targets.size());
    if (const double std_dev = scaled ? std_of(targets) : 1; std_dev > 0)
        meaning.scale = std_dev;
}

double share_of_rises(const TargetMeaning& meaning, std::span<const float> targets) {
    const float flat = meaning.is_probability() ? 0.5f : 0.0f;
    const auto rises = std::count_if(targets.begin(), targets.end(), [&](float v) { return v > flat; });
    const auto falls = std::count_if(targets.begin(), targets.end(), [&](float v) { return v < flat; });
    return rises + falls > 0 ? static_cast<double>(rises) / static_cast<double>(rises + falls) : 0.5;
}

double mean_target(const TargetMeaning& meaning, std::span<const float> targets) {
    if (meaning.is_probability())
        return share_of_rises(meaning, targets);
    double sum = 0;
    for (const float target : targets)
        sum += static_cast<double>(target);
    return sum / static_cast<double>(targets.size());
}

mlp::Samples Dataset::train() const {
    return samples_of(*this, split.train_begin, split.train_end);
}

mlp::Samples Dataset::validation() const {
    return samples_of(*this, split.validation_begin, split.validation_end);
}

void Dataset::take(market::LabeledRows labeled) {
    matrix = std::move(labeled.matrix);
    targets = std::move(labeled.targets);
    known = std::move(labeled.known);
    outcome_known = std::move(labeled.outcome_known);
    previous_targets = std::move(labeled.previous);
}

TargetMeaning Dataset::meaning_of(std::size_t row) const {
    TargetMeaning own = meaning;
    if (!instruments.empty()) {
        own.scale = instruments[matrix.instrument_of(row)].target_scale;
        own.center = instruments[matrix.instrument_of(row)].target_center;
    }
    return own;
}

std::vector<double> Dataset::validation_shares_up() const {
    std::vector<double> shares;
    if (!instruments.empty())
        for (std::size_t row = split.validation_begin; row < split.validation_end; ++row)
            shares.push_back(instruments[matrix.instrument_of(row)].training_share_up);
    return shares;
}

std::vector<double> Dataset::previous() const {
    return {previous_targets.begin() + static_cast<std::ptrdiff_t>(split.validation_begin),
            previous_targets.begin() + static_cast<std::ptrdiff_t>(split.validation_end)};
}

std::vector<double> Dataset::validation_targets() const {
    return {targets.values.begin() + static_cast<std::ptrdiff_t>(split.validation_begin),
            targets.values.begin() + static_cast<std::ptrdiff_t>(split.validation_end)};
}

double Dataset::training_mean() const {
    return mean_target(meaning, std::span<const float>(targets.values)
                                    .subspan(split.train_begin, split.train_end - split.train_begin));
}

Workspace workspace_of(const TrainConfig& config, const std::filesystem::path& folder) {
    if (config.chunk_size == 0)
        return {};
    return {folder, static_cast<std::size_t>(config.chunk_size)};
}

bool looks_at_bars(market::TargetKind target, bool by_bar) noexcept {
    switch (target) {
    case market::TargetKind::bar_return:
    case market::TargetKind::barrier:
    case market::TargetKind::volatility:
        return true;
    case market::TargetKind::direction:
        return by_bar;
    default:
        return false;
    }
}

market::TargetSpec target_spec(const TargetMeaning& meaning) {
    return {meaning.kind, meaning.horizon, meaning.across_sessions, meaning.dead_band, meaning.barrier_width};
}

TargetMeaning target_meaning(const TrainConfig& config) {
    TargetMeaning meaning;
    meaning.per_bar = per_bar(config);
    meaning.weekly = !meaning.per_bar && config.session_length == market::SessionLength::week;
    meaning.across_sessions = !meaning.per_bar || config.across_sessions;
    meaning.kind = config.target;
    if (config.target == market::TargetKind::next_return && config.compat == Compat::original)
        meaning.kind = market::TargetKind::original;
    meaning.horizon =
        looks_at_bars(config.target, meaning.per_bar) ? static_cast<std::size_t>(config.target_bars) : 1;
    meaning.dead_band = config.target == market::TargetKind::direction ? config.dead_band / 100 : 0;
    meaning.barrier_width = config.barrier_width;
    meaning.loss = choose_loss(config, meaning.kind);
    return meaning;
}

namespace {
/// The first output of each row.
std::vector<float> first_outputs(const mlp::Engine& engine, std::span<const float> inputs, std::size_t rows) {
    const std::size_t outputs = engine.model().outputs();
    std::vector<float> raw(rows * outputs);
    engine.predict(inputs.data(), engine.model().inputs, rows, raw);
    for (std::size_t row = 0; row < rows; ++row)
        raw[row] = raw[row * outputs];
    raw.resize(rows);
    return raw;
}
} // namespace

std::vector<double> predict_values(const mlp::Engine& engine, const TargetMeaning& meaning,
                                   std::span<const float> inputs, std::size_t rows) {
    std::vector<double> values;
    values.reserve(rows);
    for (const float raw : first_outputs(engine, inputs, rows))
        values.push_back(meaning.value(raw));
    return values;
}

std::vector<double> predict_validation(const mlp::Engine& engine, const Dataset& set) {
    const mlp::Samples samples = set.validation();
    const auto raw = first_outputs(engine, {samples.inputs, samples.count * samples.stride}, samples.count);
    std::vector<double> values;
    values.reserve(raw.size());
    for (std::size_t row = 0; row < raw.size(); ++row)
        values.push_back(set.meaning_of(set.split.validation_begin + row).value(raw[row]));
    return values;
}

namespace {
constexpr std::array<std::pair<market::TargetKind, const char*>, 6> kind_names{
    {{market::TargetKind::next_return, "return"},
     {market::TargetKind::direction, "direction"},
     {market::TargetKind::bar_return, "bar-return"},
     {market::TargetKind::barrier, "barrier"},
     {market::TargetKind::volatility, "volatility"},
     {market::TargetKind::original, "original"}}};
constexpr std::array<std::pair<mlp::LossSpec::Kind, const char*>, 4> loss_names{
    {{mlp::LossSpec::Kind::mse, "mse"},
     {mlp::LossSpec::Kind::huber, "huber"},
     {mlp::LossSpec::Kind::bce_with_logits, "bce"},
     {mlp::LossSpec::Kind::gaussian_nll, "gaussian-nll"}}};

template <class Table, class Kind>
const char* stored_name(const Table& table, Kind kind) {
    return std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.first == kind; })
        ->second;
}

template <class Table>
auto kind_of(const Table& table, const std::string& name) {
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.second == name; });
    if (found == table.end())
        throw usage_error(fmt::format("this version does not know \"{}\"", name)).at("the model's metadata");
    return found->first;
}
} // namespace

void to_json(nlohmann::ordered_json& json, const TargetMeaning& m) {
    json = {{"kind", stored_name(kind_names, m.kind)},
            {"horizon", m.horizon},
            {"per_bar", m.per_bar},
            {"weekly", m.weekly},
            {"across_sessions", m.across_sessions},
            {"dead_band", m.dead_band},
            {"barrier_width", m.barrier_width},
            {"center", m.center},
            {"scale", m.scale},
            {"loss", stored_name(loss_names, m.loss.kind)},
            {"huber_delta", m.loss.huber_delta},
            {"text", m.text()}};
}

void from_json(const nlohmann::ordered_json& json, TargetMeaning& m) {
    m.kind = kind_of(kind_names, json.at("kind"));
    m.horizon = json.at("horizon");
    m.per_bar = json.at("per_bar");
    m.weekly = json.value("weekly", false);                  // older runs did not record it
    m.across_sessions = json.value("across_sessions", true); // older runs did not record it
    m.dead_band = json.value("dead_band", 0.0);              // older runs did not record these three
    m.barrier_width = json.value("barrier_width", 1.0);
    m.center = json.value("center", 0.0);
    m.scale = json.at("scale");
    m.loss.kind = kind_of(loss_names, json.at("loss"));
    m.loss.huber_delta = json.at("huber_delta");
}

} // namespace rekindle::trainer
