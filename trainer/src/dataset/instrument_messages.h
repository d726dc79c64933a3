#pragma once
/// Messages about several instruments, each reported once.

#include <rekindle/trainer/progress.h>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::trainer {

/// Collects the messages about one instrument after another. Passes progress on, but not the ends of stages,
/// because the caller reports the stage for all instruments.
class InstrumentMessages final : public ProgressSink {
  public:
    explicit InstrumentMessages(ProgressSink& next) : next_(next) {}

    /// The following messages are about this instrument; "" if there is only one.
    void begin(const std::string& instrument);
    /// Passes on each distinct message, preceded by the instruments that it is about.
    void report();

    void log(LogLevel level, std::string_view message) override;
    void advanced(const StageProgress& progress) override { next_.advanced(progress); }
    void stage_ended(std::string_view, double, std::string_view) override {}
    void epoch_ended(const EpochMetrics& metrics) override { next_.epoch_ended(metrics); }

  private:
    struct Message {
        LogLevel level;
        std::string text;
        std::vector<std::string> instruments;
    };
    ProgressSink& next_;
    std::mutex mutex_;
    std::string instrument_;
    std::vector<Message> messages_;
};

} // namespace rekindle::trainer
