#include "pipeline/compile_progress.h"

namespace rekindle::runtime {

void CompileProgress::requested(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (requested_ == ended_) {
        requested_ = ended_ = 0;
        begin_ = last_report_ = now;
        reported_ = false;
    }
    ++requested_;
}

void CompileProgress::ended(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (ended_ == requested_)
        return; // another attempt after a refusal
    ++ended_;
    const bool last = ended_ == requested_;
    if (!report_ || now - begin_ < silent || (last ? !reported_ : now - last_report_ < between_reports))
        return;
    reported_ = true;
    last_report_ = now;
    report_(ended_, requested_);
}

} // namespace rekindle::runtime
