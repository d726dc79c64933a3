#pragma once
/// Progress of a long job. The trainer reports it; cli/ displays it.

#include <rekindle/foundation/log.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::trainer {

/// One line of the training history; also a line of metrics.jsonl.
struct EpochMetrics {
    std::int64_t epoch = 0;  ///< from 1
    std::int64_t epochs = 0; ///< planned
    double train_loss = 0;   ///< mean over the epoch's rows, in the loss's own unit
    double validation_loss = 0;
    double accuracy = 0;        ///< share of validation rows whose direction is predicted correctly, 0 to 1
    double learning_rate = 0;   ///< at the end of the epoch
    double gradient_norm = 0;   ///< of the last step, before clipping
    std::uint64_t steps = 0;    ///< optimizer steps so far
    double seconds = 0;         ///< of this epoch, validation included
    double rows_per_second = 0; ///< training rows / training seconds
    bool best = false;
    /// For a population: how many networks trained in this epoch. The figures above are then their medians,
    /// `steps` is the most that one has done, rows_per_second is for all together, and `best` means that one
    /// of them is the best so far.
    std::uint64_t networks = 1;
    double lowest_validation_loss = 0; ///< for a population, in this epoch
};

/// The progress of a stage.
struct StageProgress {
    std::string_view stage; ///< "Reading bars", "Training", …
    std::uint64_t done = 0;
    std::uint64_t total = 0;    ///< 0: unknown
    std::string_view unit;      ///< "bytes", "rows", "steps", "network-steps"
    double loss = 0;            ///< running training loss; NaN when there is none
    double validation_loss = 0; ///< of the last epoch; NaN when there is none
    double learning_rate = 0;   ///< NaN when there is none
    std::uint64_t networks = 1; ///< that train; the figures are then their medians
};

/// Receives progress and messages. Called from the thread that runs the job.
class ProgressSink : public LogSink {
  public:
    /// A stage has advanced; called often (implementations limit their own rate).
    virtual void advanced(const StageProgress& progress) = 0;
    /// A stage has ended after so many seconds; `summary` is one line with figures and units.
    virtual void stage_ended(std::string_view stage, double seconds, std::string_view summary) = 0;
    virtual void epoch_ended(const EpochMetrics& metrics) = 0;
};

/// How long a stage took.
struct StageTime {
    std::string stage;
    double seconds = 0;
    std::string summary; ///< "1,140,000 rows, 42 M rows/s"
};

/// Passes everything on, and records messages and stage times for a report.
class RecordedProgress final : public ProgressSink {
  public:
    /// Keeps messages of this level and of more important ones.
    explicit RecordedProgress(ProgressSink& next, LogLevel least = LogLevel::info)
        : next_(next), least_(least) {}
    void log(LogLevel level, std::string_view message) override {
        if (level >= least_)
            notes.emplace_back(message);
        next_.log(level, message);
    }
    void advanced(const StageProgress& progress) override { next_.advanced(progress); }
    void stage_ended(std::string_view stage, double seconds, std::string_view summary) override {
        stages.push_back({std::string(stage), seconds, std::string(summary)});
        next_.stage_ended(stage, seconds, summary);
    }
    void epoch_ended(const EpochMetrics& metrics) override { next_.epoch_ended(metrics); }

    std::vector<std::string> notes;
    std::vector<StageTime> stages;

  private:
    ProgressSink& next_;
    LogLevel least_;
};

/// Drops everything.
class NullProgressSink final : public ProgressSink {
  public:
    void log(LogLevel, std::string_view) override {}
    void advanced(const StageProgress&) override {}
    void stage_ended(std::string_view, double, std::string_view) override {}
    void epoch_ended(const EpochMetrics&) override {}
};

} // namespace rekindle::trainer
