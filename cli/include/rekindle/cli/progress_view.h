#pragma once
/// Shows the progress of a long job: one live line on a terminal, plain lines on a pipe, JSON lines for
/// programs.

#include <rekindle/cli/terminal.h>
#include <rekindle/trainer/progress.h>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace rekindle::cli {

struct MessageOptions {
    bool quiet = false;
    bool verbose = false;
    bool json = false;
};

/// Seconds on a monotonic clock; tests supply their own.
using SteadySeconds = std::function<double()>;
double steady_seconds();

/// Progress and notes go to `output`, warnings to `errors`. All calls are thread-safe.
class ProgressView final : public trainer::ProgressSink {
  public:
    ProgressView(Stream& output, Stream& errors, MessageOptions options, SteadySeconds now = steady_seconds);
    ~ProgressView() override;

    void log(LogLevel level, std::string_view message) override;
    void advanced(const trainer::StageProgress& progress) override;
    void stage_ended(std::string_view stage, double seconds, std::string_view summary) override;
    void epoch_ended(const trainer::EpochMetrics& metrics) override;

    /// Removes the live line, so that other text can follow.
    void finish();

  private:
    void remove_live_line();
    void print(Stream& stream, std::string_view line);
    void print_json(Stream& stream, const nlohmann::ordered_json& event);

    Stream& output_;
    Stream& errors_;
    MessageOptions options_;
    SteadySeconds now_;
    std::mutex mutex_;
    std::string stage_;
    double stage_began_ = 0;
    double last_shown_ = 0;
    bool live_line_ = false;
};

/// The live line: stage, share done, rate, loss, validation loss, learning rate and time left; parts that do
/// not fit into `width` columns are omitted, the least important first. `elapsed` is in seconds since the
/// stage began.
std::string progress_line(const trainer::StageProgress& progress, double elapsed, std::size_t width);
/// "epoch 3/10  loss 0.693  validation 0.691 (best)  …".
std::string epoch_line(const trainer::EpochMetrics& metrics);
/// "1,234 rows/s", "3.1 M rows/s", "20.3 MiB/s".
std::string format_rate(double per_second, std::string_view unit);

} // namespace rekindle::cli
