#pragma once
/// The folder of one training run, <output>/train_YYYYMMDD_HHMMSS/. Its files: docs/formats/run-folder.md.

#include <rekindle/foundation/file.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/progress.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::trainer {

/// A kind of run folder: how its name begins, and the file by which it is recognized.
struct RunKind {
    std::string_view prefix;      ///< "train_"
    std::string_view config_name; ///< "config.json"
    std::string_view noun;        ///< "run folder", for messages
};
inline constexpr RunKind training_run{"train_", "config.json", "run folder"};

/// A run folder that appears as a whole or not at all: it is prepared under a hidden name next to its final
/// place, and publish() renames it. If the object is destroyed before that, the prepared folder is removed.
/// Movable; not thread-safe.
class RunFolder {
  public:
    /// Prepares a new, locked folder in `output`, which is created when needed; folders that killed processes
    /// had prepared there are removed. Throws Error naming the folder when it cannot.
    static RunFolder prepare(const std::filesystem::path& output, RunKind kind = training_run);
    /// An existing run. Throws Error (usage) when `folder` is not a run folder, naming the newest run in it
    /// if there is one.
    static RunFolder open(const std::filesystem::path& folder, RunKind kind = training_run);

    RunFolder(RunFolder&&) noexcept;
    RunFolder& operator=(RunFolder&&) = delete;
    ~RunFolder();

    /// Where to write files; changes with publish().
    const std::filesystem::path& path() const noexcept { return path_; }
    /// "20251031_120000": the run's start in local time, as in its name.
    const std::string& timestamp() const noexcept { return timestamp_; }
    std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
    void publish();
    /// Keeps other processes from training in this folder while the object lives. Throws Error (usage) when
    /// one already does.
    void lock();

    /// The file by which the folder is recognized.
    std::filesystem::path config_path() const { return path_ / kind_.config_name; }
    void write_config(const TrainConfig& config) const;
    TrainConfig read_config() const;
    void write_metrics(std::span<const EpochMetrics> history) const;

  private:
    RunFolder(std::filesystem::path path, std::string timestamp, bool published, RunKind kind);
    bool try_lock();
    std::filesystem::path path_;
    std::vector<std::filesystem::path> made_; ///< folders that did not exist before, innermost first
    std::string timestamp_;
    bool published_;
    RunKind kind_;
    FileDescriptor lock_;
};

/// The time now as "20251031_120000", local.
std::string timestamp_now();

/// Forwards everything and writes it to <run>/logs/futures_vpoc_<timestamp>.log as "time - name - level -
/// message", time in UTC. Messages before open() are held back until then.
class LoggedProgress final : public ProgressSink {
  public:
    explicit LoggedProgress(ProgressSink& next);
    ~LoggedProgress() override;
    /// Throws Error naming the file. A resumed run gets a second file next to the first.
    void open(const std::filesystem::path& run_folder);

    void log(LogLevel level, std::string_view message) override;
    void advanced(const StageProgress& progress) override;
    void stage_ended(std::string_view stage, double seconds, std::string_view summary) override;
    void epoch_ended(const EpochMetrics& metrics) override;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace rekindle::trainer
