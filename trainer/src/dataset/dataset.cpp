#include <rekindle/base/error.h>
#include <rekindle/base/text.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/features.h>
#include <rekindle/market/minute_features.h>
#include <rekindle/trainer/dataset.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>

namespace rekindle::trainer {

namespace {

using Clock = std::chrono::steady_clock;

/// Fewer rows are too few to train on.
constexpr std::size_t min_training_rows = 10;

bool per_bar(const TrainConfig& config) {
    return std::find(config.features.begin(), config.features.end(), "minute") != config.features.end();
}

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

double std_of(std::span<const float> values) {
    double sum = 0, squares = 0;
    for (const float value : values)
        sum += value;
    const double mean = sum / static_cast<double>(values.size());
    for (const float value : values)
        squares += (value - mean) * (value - mean);
    return std::sqrt(squares / static_cast<double>(values.size()));
}

/// Sets the share of rises and the scale of the targets. Precondition: targets and split are set.
void describe_targets(Dataset& set) {
    const auto train = std::span(set.targets.values)
                           .subspan(set.split.train_begin, set.split.train_end - set.split.train_begin);
    const float flat = set.meaning.is_probability() ? 0.5f : 0.0f;
    const auto rises = std::count_if(train.begin(), train.end(), [&](float v) { return v > flat; });
    const auto falls = std::count_if(train.begin(), train.end(), [&](float v) { return v < flat; });
    set.training_share_up =
        rises + falls > 0 ? static_cast<double>(rises) / static_cast<double>(rises + falls) : 0.5;
    const bool returns = set.meaning.kind == market::TargetKind::next_return ||
                         set.meaning.kind == market::TargetKind::bar_return;
    if (const double std_dev = returns ? std_of(train) : 1; std_dev > 0)
        set.meaning.scale = std_dev;
}

ScratchArray<float> network_targets(const Dataset& set, const Workspace& workspace) {
    ScratchArray<float> targets(set.split.validation_end, workspace.folder);
    for (std::size_t row = 0; row < targets.size(); ++row)
        targets[row] = static_cast<float>(set.meaning.network_target(set.targets.values[row]));
    return targets;
}

/// Rows [begin, end) of the set.
mlp::Samples samples_of(const Dataset& set, std::size_t begin, std::size_t end) {
    const std::size_t stride = set.matrix.columns();
    return {set.rows->inputs.data() + begin * stride, stride, set.rows->targets.data() + begin, end - begin,
            set.rows};
}

/// Which of the requested features are computed.
struct FeatureSet {
    std::size_t longest_look_back = 0; ///< of features of sessions
    bool vix = true;                   ///< of features of bars
};

bool any_vix(const MarketData& data) {
    const auto vix = data.read.bars.columns().vix;
    return std::any_of(vix.begin(), vix.end(), [](float value) { return !std::isnan(value); });
}

bool any_session_vix(const MarketData& data) {
    return std::any_of(data.summaries.begin(), data.summaries.end(),
                       [](const market::SessionSummary& session) { return !std::isnan(session.vix); });
}

/// The feature sets to try, the one with all features first. Each next one omits the features that cost the
/// most rows.
std::vector<FeatureSet> feature_sets(const TrainConfig& config, const MarketData& data) {
    std::vector<FeatureSet> sets;
    if (per_bar(config)) {
        if (any_vix(data))
            sets.push_back({0, true});
        sets.push_back({0, false});
    } else {
        for (const std::size_t look_back : market::look_backs_of(config.features))
            sets.push_back({look_back, true});
    }
    return sets;
}

/// Why these bars, or their sessions, have no VIX.
std::string without_vix(const TrainConfig& config, const MarketData& data) {
    const bool joined = data.read.report.vix_source != "none";
    const std::string file = config.vix.empty() ? "the VIX column of the bars" : config.vix;
    if (joined && any_vix(data))
        return fmt::format("the first value of {} was published after the last complete session, {}", file,
                           market::format_date(data.summaries.back().date));
    if (joined)
        return fmt::format("the first value of {} was published after the last bar, {}", file,
                           timestamp_text(data.read.report.last_time, data));
    const auto& columns = data.read.report.columns;
    const bool column =
        std::any_of(columns.begin(), columns.end(), [](const auto& c) { return c.name == "vix"; });
    return config.vix.empty() && !column ? "the bars have no VIX column and no --vix was given"
                                         : fmt::format("{} has no values", file);
}

void require_vix(const TrainConfig& config, const MarketData& data) {
    const bool needed =
        std::find(config.features.begin(), config.features.end(), "vix") != config.features.end();
    if (needed && !any_session_vix(data))
        throw usage_error(fmt::format("the feature group vix has no data: {}", without_vix(config, data)))
            .at("--features")
            .hint("Use --vix to give a file of daily VIX closes that begins before the bars end, or omit the "
                  "group.");
}

bool any_volume(const MarketData& data) {
    return std::any_of(data.summaries.begin(), data.summaries.end(),
                       [](const market::SessionSummary& session) { return session.total_volume > 0; });
}

/// Otherwise a model's volume features would be computed from prices.
void require_volume_for(std::span<const std::string> names, const MarketData& data) {
    if (any_volume(data))
        return;
    const auto needing = std::ranges::find_if(names, [](const std::string& name) {
        return std::ranges::any_of(market::feature_table(), [&](const market::FeatureInfo& one) {
            return one.needs_volume && one.name == name;
        });
    });
    if (needing != names.end())
        throw usage_error(fmt::format("the feature {} has no data: no bar has volume", *needing))
            .hint("Use bars with volume, or train a model on bars without it.");
}

bool needs_vix(const std::string& feature, bool by_bar) {
    if (by_bar)
        return std::ranges::any_of(market::minute_feature_table(), [&](const market::MinuteFeature& one) {
            return one.needs_vix && one.info.name == feature;
        });
    return std::ranges::any_of(market::feature_table(), [&](const market::FeatureInfo& one) {
        return one.group == "vix" && one.name == feature;
    });
}

/// Like require_vix, for the features of a model.
void require_vix_for(std::span<const std::string> names, bool by_bar, const TrainConfig& config,
                     const MarketData& data) {
    const auto needing =
        std::ranges::find_if(names, [&](const std::string& name) { return needs_vix(name, by_bar); });
    if (needing != names.end() && !(by_bar ? any_vix(data) : any_session_vix(data)))
        throw usage_error(fmt::format("the feature {} has no data: {}", *needing, without_vix(config, data)))
            .hint("Use --vix to give a file of daily VIX closes that begins before the bars end.");
}

/// Adds a note for each feature that `set` omits and the first of `sets` has.
void note_omitted_features(const FeatureSet& set, const std::vector<FeatureSet>& sets,
                           const TrainConfig& config, const MarketData& data,
                           std::vector<std::string>& notes) {
    if (per_bar(config)) {
        if (set.vix != sets.front().vix)
            notes.emplace_back("the feature vix_lagged is omitted: too few bars have a VIX value");
        else if (!set.vix)
            notes.push_back(fmt::format("the feature vix_lagged is omitted: {}", without_vix(config, data)));
        return;
    }
    const auto sessions = static_cast<std::int64_t>(data.summaries.size());
    for (const FeatureSet& longer : sets)
        if (longer.longest_look_back > set.longest_look_back)
            notes.push_back(fmt::format(
                "the features over {} are omitted: of {} they would leave too few rows to train on",
                counted(static_cast<std::int64_t>(longer.longest_look_back), "session"),
                counted(sessions, "session")));
}

market::FeatureMatrix compute_features(const TrainConfig& config, const MarketData& data,
                                       const FeatureSet& set, ThreadPool& pool, const Workspace& workspace,
                                       market::NoRows no_rows) {
    if (!per_bar(config))
        return market::session_features(data.summaries, data.read.bars.metadata().tick, config.features, pool,
                                        {set.longest_look_back, no_rows});
    const bool volume = any_volume(data);
    std::vector<std::string> names, omitted;
    for (const market::MinuteFeature& feature : market::minute_feature_table())
        if (feature.info.needs_volume && !volume)
            omitted.push_back(feature.info.name);
        else if (set.vix || !feature.needs_vix)
            names.push_back(feature.info.name);
    market::FeatureMatrix matrix =
        market::named_minute_features(data.read.bars, data.plan.sessions, names, pool, workspace, no_rows);
    if (!omitted.empty())
        matrix.notes.push_back(market::omitted_without_volume(omitted));
    return matrix;
}

void check_groups(const TrainConfig& config, const MarketData& data) {
    if (per_bar(config) && config.features.size() > 1)
        throw usage_error(
            "the group minute makes one row per bar and cannot be combined with groups of sessions")
            .at("--features")
            .expected("minute alone, or groups without it");
    require_vix(config, data);
}

/// The features of the first set for which enough(matrix) is true, else of the last one.
template <class Enough>
market::FeatureMatrix first_with_enough_rows(const TrainConfig& config, const MarketData& data,
                                             ThreadPool& pool, const Workspace& workspace, Enough enough) {
    check_groups(config, data);
    const std::vector<FeatureSet> sets = feature_sets(config, data);
    for (const FeatureSet& set : sets) {
        const bool last = &set == &sets.back();
        auto matrix = compute_features(config, data, set, pool, workspace,
                                       last ? market::NoRows::refuse : market::NoRows::keep_none);
        if (!enough(matrix) && !last)
            continue;
        note_omitted_features(set, sets, config, data, matrix.notes);
        return matrix;
    }
    throw internal_error("there is no way to make features");
}

std::size_t purge_of(const TrainConfig& config) {
    return config.compat == Compat::original ? 0 : static_cast<std::size_t>(config.purge);
}

/// Rows that the purge must cover; --compat original keeps the original's leaks.
std::size_t purged_horizon(const TrainConfig& config, const market::TargetSpec& spec) {
    return config.compat == Compat::original ? 0 : spec.horizon();
}

bool enough_rows(std::size_t rows, const TrainConfig& config, const market::TargetSpec& spec) {
    return rows >= min_training_rows &&
           market::can_be_split(rows, config.train_split, purge_of(config),
                                static_cast<std::size_t>(config.embargo), purged_horizon(config, spec));
}

/// How many more rows are needed, or nothing when no number of rows would be enough.
std::optional<std::size_t> rows_missing(std::size_t rows, const TrainConfig& config,
                                        const market::TargetSpec& spec) {
    constexpr std::size_t most = 1'000'000;
    for (std::size_t more = 1; more < most; ++more)
        if (enough_rows(rows + more, config, spec))
            return more;
    return std::nullopt;
}

void require_rows(const Dataset& set, const TrainConfig& config, const market::TargetSpec& spec,
                  std::size_t sessions) {
    const std::size_t usable = set.targets.usable_rows();
    if (enough_rows(usable, config, spec))
        return;
    const char* noun = set.meaning.per_bar ? "bar" : "session";
    std::string hint;
    if (const auto missing = rows_missing(usable, config, spec))
        hint = fmt::format("At least {} needed.", counted(*missing, fmt::format("more {} is", noun),
                                                          fmt::format("more {}s are", noun)));
    if (set.targets.beyond_session > 0)
        hint += fmt::format(" The target of {} is beyond the end of its session: --across-sessions keeps "
                            "{}, a smaller --target-bars affects fewer rows.",
                            counted(static_cast<std::int64_t>(set.targets.beyond_session), "row"),
                            set.targets.beyond_session == 1 ? "it" : "them");
    if (set.targets.flat > 0)
        hint += fmt::format(" {} no direction, because the price did not move.",
                            counted(static_cast<std::int64_t>(set.targets.flat), "row has", "rows have"));
    for (const std::string& note : set.matrix.notes)
        hint += "\n  " + note;
    throw usage_error(fmt::format("only {} with all features and a known outcome {} left from {}",
                                  counted(static_cast<std::int64_t>(usable), "row"),
                                  usable == 1 ? "is" : "are",
                                  counted(static_cast<std::int64_t>(sessions), "session")))
        .expected(fmt::format("at least {}, split into a training and a validation set", min_training_rows))
        .hint(std::move(hint));
}

void note_missing_targets(const market::Targets& targets, ProgressSink& progress) {
    if (targets.beyond_session > 0)
        progress.info(fmt::format(
            "{} omitted: the target is beyond the end of the session (--across-sessions keeps such rows)",
            counted(static_cast<std::int64_t>(targets.beyond_session), "row is", "rows are")));
    if (targets.not_positive > 0)
        progress.info(fmt::format(
            "{} omitted: a close is not above zero, and the target is the logarithm of a ratio of closes",
            counted(static_cast<std::int64_t>(targets.not_positive), "row is", "rows are")));
    if (targets.flat > 0)
        progress.info(fmt::format("{} omitted: the price did not move, so there is no direction to learn",
                                  counted(static_cast<std::int64_t>(targets.flat), "row is", "rows are")));
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

market::FeatureMatrix build_features(const TrainConfig& config, const MarketData& data, ThreadPool& pool,
                                     const Workspace& workspace) {
    return first_with_enough_rows(config, data, pool, workspace, [](const market::FeatureMatrix& matrix) {
        return matrix.rows() > min_training_rows; // the last one has no outcome yet
    });
}

market::FeatureMatrix build_named_features(std::span<const std::string> names, bool by_bar,
                                           const TrainConfig& config, const MarketData& data,
                                           ThreadPool& pool, const Workspace& workspace) {
    require_vix_for(names, by_bar, config, data);
    require_volume_for(names, data);
    auto matrix =
        by_bar ? market::named_minute_features(data.read.bars, data.plan.sessions, names, pool, workspace)
               : market::named_session_features(data.summaries, data.read.bars.metadata().tick, names, pool);
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i < matrix.names.size() && matrix.names[i] == names[i])
            continue;
        throw usage_error(fmt::format("the feature {} cannot be computed from this data", names[i]))
            .hint(fmt::format("{}", fmt::join(matrix.notes, " "))); // such as a look-back that is too long
    }
    return matrix;
}

Dataset build_dataset(const TrainConfig& config, const MarketData& data, ThreadPool& pool,
                      ProgressSink& progress, const Workspace& workspace,
                      const std::optional<ModelInputs>& inputs) {
    const auto start = Clock::now();
    Dataset set;
    set.meaning = target_meaning(config);
    const market::TargetSpec spec{set.meaning.kind, set.meaning.horizon, set.meaning.across_sessions};
    const auto add_targets = [&](const market::FeatureMatrix& matrix) {
        set.targets = set.meaning.per_bar
                          ? market::bar_targets(matrix, data.read.bars, data.plan.sessions, spec, workspace)
                          : market::session_targets(matrix, data.summaries, spec);
        return enough_rows(set.targets.usable_rows(), config, spec);
    };
    if (inputs) {
        set.matrix =
            build_named_features(inputs->features, set.meaning.per_bar, config, data, pool, workspace);
        add_targets(set.matrix);
    } else {
        set.matrix = first_with_enough_rows(config, data, pool, workspace, add_targets);
    }
    require_rows(set, config, spec, data.summaries.size());
    note_missing_targets(set.targets, progress);
    market::keep_rows_with_target(set.matrix, set.targets, workspace);
    const std::size_t usable = set.matrix.rows();
    set.split = market::split_by_time(usable, config.train_split, purge_of(config),
                                      static_cast<std::size_t>(config.embargo), purged_horizon(config, spec));
    if (set.split.purge_raised)
        progress.info(fmt::format("--purge was raised to {}, the number of rows that the target looks ahead",
                                  set.split.purge));
    set.scaler = inputs && inputs->scaler
                     ? *inputs->scaler
                     : market::Scaler::fit(set.matrix, set.split.train(), config.scaler, pool, workspace);
    ScratchArray<float> scaled = set.scaler.transform(set.matrix, {0, usable}, pool, workspace);
    set.matrix.values = {};
    describe_targets(set);
    if (inputs && inputs->scaler)
        set.meaning.scale = inputs->target_scale;
    set.rows =
        std::make_shared<const NetworkRows>(NetworkRows{std::move(scaled), network_targets(set, workspace)});
    for (const std::string& note : set.matrix.notes)
        progress.info(note);
    progress.stage_ended("Building features", std::chrono::duration<double>(Clock::now() - start).count(),
                         fmt::format("{} of {}: {} to train on, {} to validate, {} omitted in between",
                                     counted(static_cast<std::int64_t>(usable), "row"),
                                     counted(static_cast<std::int64_t>(set.matrix.columns()), "feature"),
                                     with_thousands(static_cast<std::int64_t>(set.split.train_end)),
                                     with_thousands(static_cast<std::int64_t>(set.split.validation_end -
                                                                              set.split.validation_begin)),
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
