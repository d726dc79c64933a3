#include "build_features.h"

#include <rekindle/base/error.h>
#include <rekindle/trainer/dataset.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace rekindle::trainer {

namespace {

mlp::LossSpec choose_loss(const TrainConfig& config, market::TargetKind kind) {
    const bool probability = kind == market::TargetKind::direction || kind == market::TargetKind::original;
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

/// Rows [begin, end) of the set.
mlp::Samples samples_of(const Dataset& set, std::size_t begin, std::size_t end) {
    const std::size_t stride = set.matrix.columns();
    return {set.rows->inputs.data() + begin * stride, stride, set.rows->targets.data() + begin, end - begin,
            set.rows};
}

} // namespace

double TargetMeaning::up_threshold() const noexcept {
    return kind == market::TargetKind::direction || kind == market::TargetKind::original ? 0.5 : 0.0;
}

std::string TargetMeaning::text() const {
    const std::string span = horizon == 1
                                 ? fmt::format("the next {}", per_bar ? "bar" : "session")
                                 : fmt::format("the next {} {}", horizon, per_bar ? "bars" : "sessions");
    const char* limit = per_bar && !across_sessions ? " of the session" : "";
    if (kind == market::TargetKind::direction)
        return fmt::format("direction of {}{}, close to close", span, limit);
    return fmt::format("log return of {}{}, close to close", span, limit);
}

std::string TargetMeaning::previous_text() const {
    const char* row = per_bar ? "bar" : "session";
    const char* what = is_probability() ? "direction" : "return";
    return horizon == 1 ? fmt::format("the last {}'s {}", row, what)
                        : fmt::format("the last {}-{} {}", horizon, row, what);
}

double TargetMeaning::network_target(double target) const noexcept {
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
    return samples_of(*this, split.train_begin, split.train_end);
}

mlp::Samples Dataset::validation() const {
    return samples_of(*this, split.validation_begin, split.validation_end);
}

std::vector<double> Dataset::previous() const {
    return {previous_targets.begin() + static_cast<std::ptrdiff_t>(split.validation_begin),
            previous_targets.begin() + static_cast<std::ptrdiff_t>(split.validation_end)};
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
    meaning.across_sessions = !meaning.per_bar || config.across_sessions;
    meaning.kind = config.target;
    if (config.target == market::TargetKind::next_return && config.compat == Compat::original)
        meaning.kind = market::TargetKind::original;
    const bool ahead = config.target == market::TargetKind::bar_return ||
                       (config.target == market::TargetKind::direction && meaning.per_bar);
    meaning.horizon = ahead ? static_cast<std::size_t>(config.target_bars) : 1;
    meaning.loss = choose_loss(config, meaning.kind);
    return meaning;
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
            {"across_sessions", m.across_sessions},
            {"scale", m.scale},
            {"loss", stored_name(loss_names, m.loss.kind)},
            {"huber_delta", m.loss.huber_delta},
            {"text", m.text()}};
}

void from_json(const nlohmann::ordered_json& json, TargetMeaning& m) {
    m.kind = kind_of(kind_names, json.at("kind"));
    m.horizon = json.at("horizon");
    m.per_bar = json.at("per_bar");
    m.across_sessions = json.value("across_sessions", true); // older runs did not record it
    m.scale = json.at("scale");
    m.loss.kind = kind_of(loss_names, json.at("loss"));
    m.loss.huber_delta = json.at("huber_delta");
}

} // namespace rekindle::trainer
