#pragma once
/// Hides the progress of preparing a trial's data, which would otherwise be printed for every trial.

#include <rekindle/trainer/progress.h>

namespace rekindle::research {

/// Forwards only warnings. Precondition: the sink that receives them outlives this object.
class QuietProgress final : public trainer::ProgressSink {
  public:
    explicit QuietProgress(trainer::ProgressSink& next) : next_(&next) {}
    void forward_to(trainer::ProgressSink& next) noexcept { next_ = &next; }
    void log(LogLevel level, std::string_view message) override {
        if (level == LogLevel::warning)
            next_->log(level, message);
    }
    void advanced(const trainer::StageProgress&) override {}
    void stage_ended(std::string_view, double, std::string_view) override {}
    void epoch_ended(const trainer::EpochMetrics&) override {}

  private:
    trainer::ProgressSink* next_;
};

} // namespace rekindle::research
