#pragma once
/// Everything that determines a training run. `--config F.json`, the printed effective configuration and the
/// file config.json of a run folder share this format: a flat object whose keys are the option names with
/// underscores.

#include <rekindle/trainer/choices.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// Defaults are the program's defaults. The table of settings.h has one row for each field, in this order.
struct TrainConfig {
    // Input
    std::vector<std::string> data; ///< files or folders
    std::string vix;               ///< VIX file, "" for none
    std::string columns;           ///< "time=1,open=Open,…", "" detects them
    std::string contract = "all";  ///< all, or the beginnings of contract names, separated by commas
    SeveralInstruments several_instruments = SeveralInstruments::no;
    bool chain = false;         ///< files without contracts are one history, whatever their names
    double data_fraction = 1.0; ///< (0, 1]: the latest part of the sessions
    std::string tick = "auto";  ///< "auto", a size in points, "none", "none:0.05"
    BadRows bad_rows = BadRows::error;
    std::int64_t chunk_size = 0; ///< bars per block; 0: as many as fit

    // Time and sessions
    /// A symbol in the list of instruments; "auto": see infer_instrument(); "none" or "": none.
    std::string instrument = "auto";
    std::string instruments; ///< YAML file with that list; "" for the built-in one
    market::Clock clock = market::Clock::utc;
    std::string zone = "America/New_York"; ///< in which sessions are cut
    std::optional<market::StampAt> stamp;  ///< as ReadOptions::stamp
    std::string stamp_zone;                ///< of timestamps in local time (Clock::exchange); "": `zone`
    market::SessionHours session = market::SessionHours::all;
    market::SessionLength session_length = market::SessionLength::day;
    market::TradingDays days = market::TradingDays::automatic;
    std::string day_start = "auto";     ///< local time at which a trading day begins; auto: 18:00 in New York
    std::string regular_hours = "auto"; ///< "08:30-15:15", local time; auto: 09:30-16:00 in New York
    std::string calendar;               ///< YAML file; "": that of the instrument, or of US stocks
    market::RollMethod roll = market::RollMethod::volume;

    // Volume profile
    market::Weighting weighting = market::Weighting::uniform;
    market::ValueAreaMethod value_area = market::ValueAreaMethod::contiguous;
    market::TieRule tie = market::TieRule::lowest;
    Compat compat = Compat::none;

    // Features, target, split
    std::vector<std::string> features{"session"}; ///< groups: session, vix, returns, gap, calendar,
                                                  ///< naked-poc, delta, minute
    market::Scaler::Kind scaler = market::Scaler::Kind::robust;
    ScaleBy scale_by = ScaleBy::instrument;                   ///< with several instruments
    InstrumentInput instrument_input = InstrumentInput::none; ///< likewise
    market::TargetKind target = market::TargetKind::next_return;
    std::int64_t target_bars = 5; ///< k, for bar-return, barrier, volatility, and the direction of bars
    double dead_band = 0;         ///< for direction, in percent
    double barrier_width = 1;     ///< for barrier, as market::TargetSpec::barrier_width
    bool across_sessions = false; ///< targets of bars may reach into a later session
    double train_split = 0.8;
    std::int64_t purge = 1;   ///< rows omitted before the split
    std::int64_t embargo = 0; ///< rows omitted after the split

    // Network
    std::string model; ///< JSON model description; "" builds the default from the next three
    std::vector<std::int64_t> hidden_layers{128, 64};
    double dropout_rate = 0.4;
    mlp::Activation activation = mlp::Activation::silu;

    // Optimization
    LossChoice loss = LossChoice::automatic;
    double huber_delta = 1.0;
    mlp::OptimizerSpec::Kind optimizer = mlp::OptimizerSpec::Kind::adamw;
    double learning_rate = 5e-4;
    double weight_decay = 0.01;
    double momentum = 0.0;
    mlp::ScheduleSpec::Kind schedule = mlp::ScheduleSpec::Kind::plateau;
    std::int64_t warmup_steps = 0;
    std::int64_t plateau_patience = 10;
    double clip_norm = 1.0;
    std::int64_t batch_size = 32;
    std::int64_t epochs = 10;
    std::int64_t gradient_accumulation_steps = 1;
    std::int64_t early_stopping = 0; ///< epochs without improvement; 0 is off
    double ema = 0.0;
    bool use_mixed_precision = false;
    std::int64_t seed = 42;
    std::int64_t population = 1; ///< networks trained together, with the seeds seed, seed + 1, …

    // Where and how it runs
    std::string output = "TRAINING";
    std::string device = "auto"; ///< as device_name.h reads it
    std::string device_ids;      ///< "" or "0,1"
    bool no_distributed = false;
    DistributedStrategy distributed_strategy = DistributedStrategy::automatic;
    bool skip_gpu_cleanup = false;
    std::int64_t threads = 0;             ///< 0: all CPUs
    std::int64_t checkpoint_interval = 0; ///< optimizer steps; 0: every epoch and every 30 s
    std::int64_t keep_checkpoints = 3;
    std::string resume_from_checkpoint; ///< run folder, "" for none

    friend bool operator==(const TrainConfig&, const TrainConfig&) = default;
};

} // namespace rekindle::trainer
