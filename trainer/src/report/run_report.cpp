#include "run_report.h"

#include "dataset/settings_in_effect.h"
#include "instruments_report.h"
#include "population_report.h"

#include <rekindle/base/text.h>
#include <rekindle/base/version.h>
#include <rekindle/market/clock.h>
#include <rekindle/mlp/engine.h>
#include <rekindle/trainer/network.h>
#include <rekindle/trainer/report.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>

namespace rekindle::trainer {

namespace {

constexpr std::size_t shown_profiles = 3;
/// More points than this cannot be distinguished in a chart; rows are then taken at equal distances.
constexpr std::size_t shown_outcomes = 3000;

std::string count(std::uint64_t value) {
    return with_thousands(static_cast<std::int64_t>(value));
}

std::string report_timestamp() {
    return market::format_civil(static_cast<std::int64_t>(std::time(nullptr))) + " UTC";
}

std::string loss_name(const mlp::LossSpec& loss) {
    switch (loss.kind) {
    case mlp::LossSpec::Kind::mse:
        return "mean squared error";
    case mlp::LossSpec::Kind::huber:
        return fmt::format("Huber loss (delta {:g})", loss.huber_delta);
    case mlp::LossSpec::Kind::bce_with_logits:
        return "cross-entropy";
    default:
        return "Gaussian negative log-likelihood";
    }
}

std::string loss_unit(const TargetMeaning& meaning) {
    const bool nats = meaning.loss.kind == mlp::LossSpec::Kind::bce_with_logits ||
                      meaning.loss.kind == mlp::LossSpec::Kind::gaussian_nll;
    return nats ? "nats" : "in units of the target's variance";
}

std::string report_title(const TrainConfig& config) {
    std::string names;
    for (const std::string& path : config.data)
        names += (names.empty() ? "" : ", ") + std::filesystem::path(path).filename().string();
    const char* rows =
        config.session_length == market::SessionLength::week ? "weekly sessions" : "daily sessions";
    const bool per_bar =
        std::find(config.features.begin(), config.features.end(), "minute") != config.features.end();
    return fmt::format("{}, {}", names, per_bar ? "one row per bar" : rows);
}

ReportProfile report_profile(const MarketData& data, std::size_t index) {
    const market::Session& session = data.plan.sessions[index];
    const market::SessionSummary& summary = data.summaries[index];
    const market::BarMetadata& metadata = data.read.bars.metadata();
    const market::VolumeProfile profile =
        market::session_profile(data.read.bars, session, data.profile_rules);
    const auto points = [&](double ticks) { return metadata.tick.to_points(ticks); };
    ReportProfile shown;
    shown.label = market::format_date(session.date);
    const std::string contract = market::contract_name(metadata, session.contract);
    if (const std::string& name = contract.empty() ? data.instrument : contract;
        !name.empty() && session.contract != market::mixed_contracts)
        shown.label += ", " + name;
    for (std::size_t level = 0; level < profile.volumes().size(); ++level) {
        shown.prices.push_back(profile.tick().to_points(profile.lowest() + static_cast<double>(level)));
        shown.volumes.push_back(static_cast<double>(profile.volumes()[level]) /
                                static_cast<double>(1 << market::volume_fraction_bits));
    }
    shown.point_of_control = points(summary.point_of_control);
    shown.value_area_low = points(summary.value_area_low);
    shown.value_area_high = points(summary.value_area_high);
    shown.close = points(static_cast<double>(summary.close));
    return shown;
}

/// Adds the profiles of the last sessions. With several instruments, adds that of the last session of each of
/// the first few instruments.
void add_profiles(ReportData& report, const TrainedRun& run) {
    if (run.markets.size() > 1) {
        for (const MarketData& data : run.markets.first(std::min(run.markets.size(), shown_profiles)))
            report.profiles.push_back(report_profile(data, data.summaries.size() - 1));
        return;
    }
    const MarketData& data = run.markets.front();
    const std::size_t sessions = data.summaries.size();
    for (std::size_t index = sessions - std::min(sessions, shown_profiles); index < sessions; ++index)
        report.profiles.push_back(report_profile(data, index));
}

void add_outcomes(ReportData& report, const TrainedRun& run) {
    const double scale = run.set.meaning.is_probability() ? 1 : 100;
    const auto actual = run.set.validation_targets();
    const std::size_t every = std::max<std::size_t>(1, actual.size() / shown_outcomes);
    for (std::size_t row = 0; row < actual.size(); row += every) {
        report.predicted.push_back(scale * run.predicted[row]);
        report.actual.push_back(scale * actual[row]);
    }
    if (every > 1)
        report.notes.push_back(fmt::format(
            "The chart of predictions shows every {} of {}.", ordinal(static_cast<std::int64_t>(every)),
            counted(static_cast<std::int64_t>(actual.size()), "validation row")));
    report.calibration_scale = scale;
    report.target_unit = run.set.meaning.is_probability() ? "probability" : "%";
}

/// How timestamps were read and where sessions are cut.
std::string times_text(const MarketData& data) {
    const market::StampRules& stamps = data.read.report.stamps;
    if (data.read.bars.metadata().dates_only)
        return "dates";
    const std::string_view edge = stamps.at == market::StampAt::bar_start ? "start" : "end";
    if (stamps.clock == market::Clock::raw)
        return fmt::format("as labeled in the file, at the {} of bars", edge);
    return fmt::format("{} at the {} of bars, sessions in {}",
                       stamps.clock == market::Clock::utc ? "UTC" : stamps.zone, edge,
                       data.session_rules.zone);
}

std::vector<ReportFact> facts_of(const MarketData& data) {
    const market::ReadReport& read = data.read.report;
    const std::string length = market::BarLength::of(read.spacing).text();
    return {{"Bars", fmt::format("{} ({}, {})", count(read.rows), read.format, format_bytes(read.bytes))},
            {"Length of a bar", length.empty() ? "varies" : length},
            {"Sessions", fmt::format("{}, {} to {}", count(data.summaries.size()),
                                     market::format_date(data.summaries.front().date),
                                     market::format_date(data.summaries.back().date))},
            {"Tick", market::tick_text(read)},
            {"Times", times_text(data)},
            {"VIX", read.vix_source},
            {"XXH3-128 of the input", read.data_hash.hex()}};
}

std::vector<ReportFact> facts_of_all(std::span<const MarketData> markets) {
    std::uint64_t bars = 0, sessions = 0;
    for (const MarketData& data : markets) {
        bars += data.read.report.rows;
        sessions += data.summaries.size();
    }
    const std::string length = market::BarLength::of(markets.front().read.report.spacing).text();
    return {{"Instruments", count(markets.size())},
            {"Bars", count(bars)},
            {"Length of a bar", length.empty() ? "varies" : length},
            {"Sessions", count(sessions)},
            {"VIX", markets.front().read.report.vix_source}};
}

ReportTable rolls_table(std::span<const MarketData> markets) {
    const bool several = markets.size() > 1;
    ReportTable table{"Rolls",
                      {"date", "from", "to", "gap (points)", "reason"},
                      {},
                      "Earlier prices are shifted by the gaps known at the time."};
    if (several)
        table.columns.insert(table.columns.begin(), "instrument");
    for (const MarketData& data : markets) {
        const auto& names = data.read.bars.metadata().contracts;
        for (const market::Roll& roll : data.plan.rolls) {
            table.rows.push_back(
                {market::format_date(roll.date), names[roll.from], names[roll.to],
                 fmt::format("{:+g}", data.read.report.tick.to_points(static_cast<double>(roll.gap_ticks))),
                 roll.reason});
            if (several)
                table.rows.back().insert(table.rows.back().begin(), data.instrument);
        }
    }
    return table;
}

ReportTable importance_table(const TrainedRun& run) {
    ReportTable table{
        "Permutation importance",
        {"features", "loss grows by (%)", "lowest", "highest"},
        {},
        "How much the loss on the validation rows grows when the values of these features are "
        "taken from other validation rows (Breiman, 2001); median and range of five permutations. "
        "Near 0, the network does not need them. Their loss chose the epoch; rekindle "
        "walk-forward measures importance on rows that chose nothing."};
    for (const Importance& group : run.importance)
        table.rows.push_back({group.group, fmt::format("{:.3g}", 100 * group.loss_increase),
                              fmt::format("{:.3g}", 100 * group.lowest),
                              fmt::format("{:.3g}", 100 * group.highest)});
    return table;
}

void add_data(ReportData& report, const TrainedRun& run) {
    report.data = run.set.instruments.empty() ? facts_of(run.markets.front()) : facts_of_all(run.markets);
    std::uint64_t rejected = 0;
    for (const MarketData& data : run.markets)
        rejected += data.read.report.rejected;
    if (rejected > 0)
        report.warnings.push_back(fmt::format("{} skipped; rejected.csv lists them.",
                                              counted(rejected, "bad row was", "bad rows were")));

    const market::Split& split = run.set.split;
    const auto date = [&](std::size_t row) { return market::format_date(run.set.matrix.dates[row]); };
    report.tables.push_back(
        {"Split by time",
         {"part", "rows", "from", "to"},
         {{"training", count(split.train_end - split.train_begin), date(split.train_begin),
           date(split.train_end - 1)},
          {"validation", count(split.validation_end - split.validation_begin), date(split.validation_begin),
           date(split.validation_end - 1)}},
         fmt::format("{} used by neither part.",
                     counted(static_cast<std::int64_t>(split.validation_begin - split.train_end),
                             "row in between is", "rows in between are"))});
    if (ReportTable rolls = rolls_table(run.markets); !rolls.rows.empty())
        report.tables.push_back(std::move(rolls));
}

void add_configuration(ReportData& report, const TrainedRun& run) {
    nlohmann::ordered_json json;
    to_json(json, run.config);
    report.configuration.emplace_back("network", describe_network(run.model));
    report.configuration.emplace_back("trained on", run.device.device);
    if (!run.device.driver.empty())
        report.configuration.emplace_back("driver", run.device.driver);
    report.configuration.emplace_back("reason for this device", run.device.why);
    report.configuration.emplace_back("instruction set", std::string(mlp::instruction_set()));
    const auto without_effect = settings_without_effect(run.config, run.set.meaning);
    for (const auto& [key, value] : json.items()) {
        std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        if (text.empty())
            continue;
        const auto none = std::ranges::find(without_effect, key, &SettingWithoutEffect::key);
        if (none != without_effect.end())
            text += fmt::format(" (no effect: {})", none->reason);
        else if (const auto used = value_in_effect(key, run.config, run.markets.front(), run.set);
                 !used.empty())
            text += fmt::format(" (in effect: {})", used);
        report.configuration.emplace_back(key, text);
    }
}

} // namespace

void write_run_report(const RunFolder& folder, const TrainedRun& run) {
    ReportData report;
    report.title = report_title(run.config);
    report.run = folder.path().filename().string();
    report.finished = report_timestamp();
    report.program = "rekindle " + version_number();
    report.synthetic =
        std::ranges::any_of(run.markets, [](const MarketData& data) { return data.read.report.synthetic; });
    for (const MarketData& data : run.markets)
        report.inputs.push_back(report_input(data.read.report));
    sort_inputs(report.inputs);
    const market::Split& split = run.set.split;
    report.judged = fmt::format(
        "{} from {} to {}",
        counted(static_cast<std::int64_t>(split.validation_end - split.validation_begin), report.row_noun),
        market::format_date(run.set.matrix.dates[split.validation_begin]),
        market::format_date(run.set.matrix.dates[split.validation_end - 1]));
    report.target = run.set.meaning.text();
    report.loss_name = loss_name(run.set.meaning.loss);
    report.loss_unit = loss_unit(run.set.meaning);
    report.evaluation = run.evaluation;
    report.history = run.fit.history;
    if (run.population)
        report.sections.push_back(population_section(
            run, report.loss_unit.empty() ? report.loss_name
                                          : fmt::format("{} ({})", report.loss_name, report.loss_unit)));
    if (!run.set.instruments.empty())
        report.sections.push_back(instruments_section(run));
    add_profiles(report, run);
    add_outcomes(report, run);
    if (!run.importance.empty())
        report.tables.push_back(importance_table(run));
    add_data(report, run);
    add_configuration(report, run);
    for (const auto& [stage, seconds, summary] : run.stages)
        report.timings.push_back({stage, seconds, ""});
    report.notes.insert(report.notes.begin(), run.notes.begin(), run.notes.end());
    if (run.fit.history.size() > 1)
        report.notes.push_back(
            fmt::format("The best of {} was selected by its loss on the validation rows, which favors the "
                        "model a little; an edge must be confirmed on later data.",
                        counted(static_cast<std::int64_t>(run.fit.history.size()), "epoch")));
    write_report(folder.path(), report);
    write_training_history(folder.path() / "training_history.png", run.fit.history, report.loss_name);
}

} // namespace rekindle::trainer
