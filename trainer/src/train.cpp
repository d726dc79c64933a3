#include "dataset/settings_in_effect.h"
#include "device/device_record.h"
#include "predict/model_match.h"
#include "predict/start_model.h"
#include "predict/trained_run.h"
#include "report/outputs.h"
#include "scores/population_scores.h"
#include "scores/validation.h"

#include <rekindle/base/clock.h>
#include <rekindle/base/hash.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>
#include <rekindle/trainer/device.h>
#include <rekindle/trainer/network.h>
#include <rekindle/trainer/runtime_error.h>
#include <rekindle/trainer/settings.h>
#include <rekindle/trainer/train.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>

namespace rekindle::trainer {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

/// Settings that a resumed run may change: they do not affect the steps already done.
constexpr std::array changeable_on_resume{"epochs",
                                          "threads",
                                          "device",
                                          "device_ids",
                                          "no_distributed",
                                          "distributed_strategy",
                                          "checkpoint_interval",
                                          "keep_checkpoints",
                                          "resume_from_checkpoint"};
/// Settings that do not decide the weights of a given epoch.
constexpr std::array not_in_config_hash{"data",
                                        "chain", // decides only whether the data is accepted
                                        "vix",
                                        "calendar", // affects the rows, which are compared
                                        "model",    // its content is part of the hash
                                        "output",
                                        "device",
                                        "device_ids",
                                        "no_distributed",
                                        "distributed_strategy",
                                        "skip_gpu_cleanup",
                                        "threads",
                                        "checkpoint_interval",
                                        "keep_checkpoints",
                                        "resume_from_checkpoint",
                                        "chunk_size",
                                        "epochs"};

template <class Keys>
bool holds_key(const Keys& keys, const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Files that may have moved since: their content is compared, not their name.
constexpr std::array input_files{"data", "chain", "vix", "calendar", "model"};

/// The run's own settings, with those that may change taken from the user; any other difference is refused.
TrainConfig resumed_config(const TrainConfig& requested, const std::set<std::string>& given,
                           const TrainConfig& stored, ProgressSink& progress) {
    Json requested_json, own;
    to_json(requested_json, requested);
    to_json(own, stored);
    for (const std::string& key : given) {
        if (key == "output") {
            progress.warning("--output has no effect: a resumed run stays in its folder");
            continue;
        }
        const bool changes_schedule =
            key == "epochs" && stored.schedule == mlp::ScheduleSpec::Kind::cosine; // it shapes every step
        const bool may_change =
            (holds_key(changeable_on_resume, key) && !changes_schedule) || holds_key(input_files, key);
        if (!may_change && own[key] != requested_json[key])
            throw usage_error(fmt::format("this run was started with {} = {} and cannot continue with {}{}",
                                          key, own[key].dump(), requested_json[key].dump(),
                                          changes_schedule ? ", because its schedule is cosine" : ""))
                .at("--resume-from-checkpoint")
                .hint("Omit the option, or start a new run.");
        own[key] = requested_json[key];
    }
    TrainConfig config;
    update_from_json(own, config);
    return config;
}

/// --compat original stands for a set of rules; an explicit option still wins.
void apply_compatibility(TrainConfig& config, const std::set<std::string>& given, ProgressSink& progress) {
    if (config.compat != Compat::original)
        return;
    if (!given.contains("clock"))
        config.clock = market::Clock::raw;
    for (std::int64_t& width : config.hidden_layers)
        width = (width + 31) / 32 * 32;
    progress.info(
        fmt::format("--compat original: generation G of the volume profile, sessions by {} date, contracts "
                    "mixed, widths {} (multiples of 32), target (y + 1) / 2 with cross-entropy, no purge",
                    name_of(config.clock), fmt::join(config.hidden_layers, ",")));
}

std::string config_hash(const TrainConfig& config, const mlp::ModelDescription& model,
                        const std::optional<UsableModel>& start) {
    Json json;
    to_json(json, config);
    for (const char* key : not_in_config_hash)
        json.erase(key);
    // The hash is as it was before these settings existed.
    if (config.population == 1)
        json.erase("population");
    if (config.regular_hours == "auto")
        json.erase("regular_hours");
    if (config.days == market::TradingDays::automatic)
        json.erase("days");
    if (!has_instrument(config))
        json["instrument"] = "";
    if (!config.across_sessions)
        json.erase("across_sessions");
    if (config.stamp_zone.empty())
        json.erase("stamp_zone");
    if (config.dead_band == 0)
        json.erase("dead_band");
    if (config.barrier_width == 1)
        json.erase("barrier_width");
    if (config.several_instruments == SeveralInstruments::no)
        for (const char* key : {"several_instruments", "scale_by", "instrument_input"})
            json.erase(key);
    if (config.schedule == mlp::ScheduleSpec::Kind::cosine)
        json["epochs"] = config.epochs; // the end of the schedule shapes every step
    const nlohmann::json description = model;
    const std::string text = json.dump() + description.dump();
    if (!start)
        return hash128(text).hex();
    Hasher hasher;
    hasher.update(std::as_bytes(std::span(text)));
    for (const mlp::NamedTensor& tensor : start->parameters)
        hasher.update(std::as_bytes(std::span(tensor.values)));
    return hasher.digest().hex();
}

std::string data_hash(const Dataset& set) {
    Hasher hasher;
    hasher.update(std::as_bytes(std::span(set.rows->inputs)));
    hasher.update(std::as_bytes(std::span(set.rows->targets)));
    set.rows->inputs.release(0, set.rows->inputs.size());
    const std::array<std::uint64_t, 3> split{set.split.train_end, set.split.validation_begin,
                                             set.split.validation_end};
    hasher.update(std::as_bytes(std::span(split)));
    return hasher.digest().hex();
}

/// A summary by which a person recognizes an input.
std::string data_summary(const Dataset& set) {
    const auto date = [&](std::size_t row) { return market::format_date(set.matrix.dates[row]); };
    return fmt::format("{} of {} from {} to train on and {} to validate, the last of {}",
                       counted(static_cast<std::int64_t>(set.split.train_end - set.split.train_begin), "row"),
                       counted(static_cast<std::int64_t>(set.matrix.columns()), "feature"),
                       date(set.split.train_begin), set.split.validation_end - set.split.validation_begin,
                       date(set.split.validation_end - 1));
}

std::optional<Checkpoint> find_checkpoint(const RunFolder& folder, const FitOptions& options, LogSink& log) {
    auto checkpoint = CheckpointStore(folder.checkpoints(), 1).load_newest(log);
    if (!checkpoint) {
        log.warning("the run has no checkpoint yet; it starts over with its own settings");
        return checkpoint;
    }
    if (checkpoint->config_hash != options.config_hash)
        throw usage_error("the checkpoint was made with other settings")
            .at("--resume-from-checkpoint")
            .hint("The run's config.json or the file of --model has been changed. Start a new run.");
    if (checkpoint->data_hash != options.data_hash)
        throw usage_error(fmt::format("the input is not the one that this run was started with: {}",
                                      checkpoint->data_summary == options.data_summary
                                          ? "it has as many rows with the same dates, but other values"
                                          : fmt::format("it had {}, now there are {}",
                                                        checkpoint->data_summary, options.data_summary)))
            .at("--resume-from-checkpoint")
            .hint("Give the same files with --data and --vix, or start a new run.");
    if (checkpoint->epoch > options.epochs)
        throw usage_error(fmt::format("the run has {} and cannot go back to {}",
                                      counted(checkpoint->epoch, "complete epoch"), options.epochs))
            .at("--epochs")
            .expected(fmt::format("{} or more", checkpoint->epoch));
    log.info(
        fmt::format("resuming after {} and {} of the next one", counted(checkpoint->epoch, "complete epoch"),
                    counted(static_cast<std::int64_t>(checkpoint->batches_in_epoch), "batch", "batches")));
    return checkpoint;
}

/// Warns about each given setting that has no effect, with the reason.
void warn_of_options_without_effect(const TrainConfig& config, const std::set<std::string>& given,
                                    const TargetMeaning& meaning, ProgressSink& progress) {
    for (const auto& [key, reason] : settings_without_effect(config, meaning)) {
        if (!given.contains(std::string(key)))
            continue;
        std::string option = "--" + std::string(key);
        std::replace(option.begin(), option.end(), '_', '-');
        progress.warning(fmt::format("{} has no effect: {}", option, reason));
    }
}

/// Refuses to continue training with several instruments, because their scaling and inputs belong to the data
/// that the model was trained on.
void refuse_several_instruments(const UsableModel& start, const TrainConfig& config) {
    if (start.stored.instruments.empty() && config.several_instruments == SeveralInstruments::no)
        return;
    throw usage_error("training cannot continue if the model or the data has bars of several instruments")
        .at(config.model)
        .expected("a network description, or a model and bars of one instrument")
        .hint(
            start.stored.instruments.empty()
                ? "Choose the bars of one instrument with --contract NAME, or train a new model on all bars."
                : "Train a new model on all bars.");
}

/// Reports what training continues from, and warns of what is in doubt. Throws Error (usage) if the data does
/// not fit the model.
void compare_with_start(const UsableModel& start, const TrainConfig& config, const MarketData& data,
                        ProgressSink& progress) {
    progress.info(fmt::format("training continues from the weights of {}, with its features, scaling and "
                              "target, and with a new optimizer",
                              config.model));
    std::vector<std::string> doubts;
    constexpr bool other_instrument = true; // training may continue on another instrument on purpose
    require_matching_data(start, data, config.model, other_instrument, doubts);
    for (const std::string& doubt : doubts)
        progress.warning(doubt);
}

/// Warns unless all validation rows are later than the model's data, which ended with the last close that the
/// model records.
void warn_of_rows_seen_before(const UsableModel& start, const Dataset& set, ProgressSink& progress) {
    const std::int32_t first = set.matrix.dates[set.split.validation_begin];
    const auto& instrument = start.stored.instrument;
    if (instrument && !instrument->closes.empty() && instrument->closes.back().date < first)
        return;
    progress.warning(fmt::format(
        "the validation rows begin on {}, and the data that the model was trained on {}, so the scores below "
        "may include rows that it was trained on",
        market::format_date(first),
        instrument && !instrument->closes.empty()
            ? "ends on " + market::format_date(instrument->closes.back().date)
            : "is unknown"));
}

void report_training_setup(const TrainConfig& config, const mlp::ModelDescription& model, const Dataset& set,
                           ProgressSink& progress) {
    const std::string seeds =
        config.population > 1
            ? fmt::format("{} networks with seeds {} to {}", with_thousands(config.population), config.seed,
                          config.seed + config.population - 1)
            : fmt::format("seed {}", config.seed);
    progress.info(fmt::format(
        "network {} with {}; target: {}; {} {:g}, batch {}{}, {}, {}", describe_network(model),
        counted(static_cast<std::int64_t>(parameter_count(model)), "parameter"), set.meaning.text(),
        name_of(config.optimizer), config.learning_rate, config.batch_size,
        config.gradient_accumulation_steps > 1 ? fmt::format(" × {}", config.gradient_accumulation_steps)
                                               : "",
        counted(config.epochs, "epoch"), seeds));
}

FitOptions fit_options(const TrainConfig& config, const mlp::ModelDescription& model,
                       const std::optional<UsableModel>& start, const Dataset& set, std::size_t threads) {
    FitOptions options;
    options.epochs = config.epochs;
    options.batch_size = static_cast<std::size_t>(config.batch_size);
    options.early_stopping = config.early_stopping;
    options.checkpoint_interval = config.checkpoint_interval;
    options.up_threshold = set.meaning.up_threshold();
    options.config_hash = config_hash(config, model, start);
    options.data_hash = data_hash(set);
    options.data_summary = data_summary(set);
    options.threads = threads;
    return options;
}

/// Calls `call` and rethrows the runtime's failures as errors with hints.
FitResult fit_on_device(const PreparedPopulation& prepared, const fs::path& run_folder,
                        const std::function<FitResult()>& call) {
    try {
        return call();
    } catch (const runtime::DeviceLost& lost) {
        const bool saved = fs::exists(run_folder / "checkpoints");
        throw Error(lost.what())
            .at(prepared.use.device)
            .hint(saved ? fmt::format("The last checkpoint is intact. Resume with: rekindle train "
                                      "--resume-from-checkpoint {} (add --device cpu to avoid this device)",
                                      run_folder.string())
                        : "No checkpoint was written yet. Run rekindle doctor to find the cause; --device "
                          "cpu trains without this device.");
    } catch (const runtime::OutOfMemory& error) {
        throw Error(error.what())
            .at(prepared.use.device)
            .hint("Train fewer networks (--population), or train on the CPU with --device cpu.");
    } catch (const runtime::Error& error) {
        throw_as_error(error, prepared.use.device);
    }
}

ValidationRows validation_rows(const Dataset& set, const std::vector<double>& predicted) {
    ValidationRows rows;
    for (std::size_t row = set.split.validation_begin; row < set.split.validation_end; ++row) {
        rows.dates.push_back(set.matrix.dates[row]);
        rows.known_at.push_back(set.known[row]);
        if (!set.instruments.empty())
            rows.instruments.push_back(set.instruments[set.matrix.instrument_of(row)].name);
    }
    rows.predicted = predicted;
    rows.outcome = set.validation_targets();
    return rows;
}

/// Scores the trained networks, writes the files of the run and fills in the outcome.
void finish(TrainOutcome& outcome, const RunFolder& folder, const TrainConfig& config,
            std::span<const MarketData> markets, const Dataset& set, const mlp::ModelDescription& model,
            const mlp::TrainingSpec& spec, const DeviceUse& device, const FitResult& result, ThreadPool& pool,
            RecordedProgress& progress) {
    const auto start = Clock::now();
    const mlp::Engine engine = engine_with(model, spec, result.best_parameters);
    const auto predicted = validation_predictions(set, engine);
    const std::optional<ForecastRecord> forecasts =
        forecast_record(set, result.members[result.best_member].seed, engine);
    const Baselines baselines(set);
    const auto seed = static_cast<std::uint64_t>(config.seed);
    Evaluation evaluation = evaluate_on_validation(set, predicted, baselines, seed);
    std::optional<PopulationScores> population;
    if (config.population > 1) {
        population = score_population(
            result,
            evaluate_on_validation(set, mean_predictions(set, model, spec, result, pool), baselines, seed));
        evaluation = adjusted_for_selection(std::move(evaluation), *population);
        for (const Score& score : population->mean.scores)
            outcome.mean_lines.push_back(describe(score));
    }
    const auto by_instrument = evaluate_instruments(set, predicted, baselines, seed);
    const auto importance = validation_importance(set, engine, seed);
    write_outputs(folder,
                  {config, markets, set, model, spec.optimizer, device, result, population, evaluation,
                   forecasts, by_instrument, importance, predicted, progress.notes, progress.stages});
    progress.stage_ended("Writing results", seconds_since(start),
                         fmt::format("into {}", folder.path().string()));
    outcome.validation = validation_rows(set, predicted);
    outcome.report = folder.path() / "report.html";
    outcome.verdict = evaluation.verdict.text();
    outcome.has_edge = evaluation.has_edge;
    for (const Score& score : evaluation.scores)
        outcome.score_lines.push_back(describe(score));
    for (std::size_t i = 0; i < by_instrument.size(); ++i)
        outcome.instrument_lines.push_back(describe_instrument(set.instruments[i], by_instrument[i]));
}

} // namespace

TrainOutcome train(TrainConfig config, const std::set<std::string>& given, ProgressSink& sink,
                   const CancellationToken& cancellation, const BarReader& read_bars) {
    const auto start = Clock::now();
    LoggedProgress logged(sink);
    RecordedProgress progress(logged);
    const bool resuming = !config.resume_from_checkpoint.empty();
    RunFolder folder =
        resuming ? RunFolder::open(config.resume_from_checkpoint) : RunFolder::prepare(config.output);
    folder.lock();
    if (resuming)
        config = resumed_config(config, given, folder.read_config(), progress);
    config = with_absolute_paths(std::move(config));
    const std::optional<UsableModel> start_from = start_model(config);
    if (start_from)
        refuse_several_instruments(*start_from, config);
    if (start_from && !resuming)
        config = continued_config(config, given, *start_from);
    if (!resuming)
        apply_compatibility(config, given, progress);
    if (!resuming && !start_from)
        if (const std::string sentence = infer_instrument(config, given); !sentence.empty())
            progress.info(sentence);
    DeviceChoice devices(config, progress);

    ThreadPool pool(static_cast<std::size_t>(config.threads));
    const std::vector<MarketData> markets =
        load_markets(config, folder.path() / "bars.columns", pool, progress, cancellation,
                     LastSession::when_complete, read_bars);
    note_unused_vix(config, markets.front().read.report, progress);
    if (start_from)
        compare_with_start(*start_from, config, markets.front(), progress);
    const Dataset set = build_dataset(config, markets, pool, progress, workspace_of(config, folder.path()),
                                      start_from ? std::optional(inputs_of(*start_from)) : std::nullopt);
    const mlp::ModelDescription model =
        start_from ? start_from->stored.model : network_of(config, set.matrix.columns(), set.meaning);
    if (start_from) {
        require_sizes(model, set.matrix.columns(), set.meaning, config.model);
        warn_of_rows_seen_before(*start_from, set, progress);
    }
    const mlp::TrainingSpec spec = training_spec(config, set, pool.size());
    warn_of_options_without_effect(config, given, set.meaning, progress);
    report_training_setup(config, model, set, progress);
    const FitOptions options = fit_options(config, model, start_from, set, pool.size());
    const auto checkpoint = resuming ? find_checkpoint(folder, options, progress) : std::nullopt;
    const double epochs_done = checkpoint ? static_cast<double>(checkpoint->epoch) : 0;
    const double share_left = 1 - epochs_done / static_cast<double>(config.epochs);
    const auto members = member_specs(config, set, pool.size());
    const PreparedPopulation prepared = devices.prepare(
        {model, members, options.batch_size, config.epochs,
         share_left * static_cast<double>(spec.schedule.total_steps * spec.accumulation_steps), pool.size()},
        progress);

    if (const auto rejected = rejected_rows(markets); !rejected.empty())
        market::write_rejected_rows(folder.path() / "rejected.csv", rejected);
    folder.write_config(config);
    if (!resuming)
        folder.publish();
    logged.open(folder.path());
    record_device(folder.path(), prepared, progress);
    CheckpointStore store(folder.checkpoints(), config.keep_checkpoints);
    const FitResult result = fit_on_device(prepared, folder.path(), [&] {
        prepared.population->initialize();
        for (std::size_t member = 0; start_from && member < prepared.population->size(); ++member)
            prepared.population->set_parameters(member, start_from->parameters);
        return fit(*prepared.population, set.train(), set.validation(), options, store, checkpoint, progress,
                   cancellation);
    });
    folder.write_metrics(result.history);

    TrainOutcome outcome;
    outcome.run_folder = folder.path();
    outcome.interrupted = result.interrupted;
    if (!result.interrupted)
        finish(outcome, folder, config, markets, set, model, spec, prepared.use, result, pool, progress);
    outcome.seconds = seconds_since(start);
    return outcome;
}

} // namespace rekindle::trainer
