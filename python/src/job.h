#pragma once
/// Runs work without Python's global lock, with progress, messages and cancellation in Python.

#include <rekindle/base/cancellation.h>
#include <rekindle/trainer/progress.h>

#include <chrono>
#include <exception>
#include <functional>
#include <nanobind/nanobind.h>
#include <optional>
#include <string>
#include <utility>

namespace rekindle::python {

/// Reports to the Python object `listener` (rekindle_train._progress.Listener) and lets Python handle
/// signals. If either raises an exception, such as KeyboardInterrupt, sets the token and keeps the exception.
/// Used on the thread that runs the job, with or without the global lock.
class JobProgress final : public trainer::ProgressSink {
  public:
    /// Preconditions: holds the global lock; the listener outlives this object.
    JobProgress(nanobind::handle listener, CancellationToken& cancellation)
        : listener_(listener), cancellation_(cancellation) {}

    void log(LogLevel level, std::string_view message) override;
    void advanced(const trainer::StageProgress& progress) override;
    void stage_ended(std::string_view stage, double seconds, std::string_view summary) override;
    void epoch_ended(const trainer::EpochMetrics& metrics) override;

    /// Calls `function` with the global lock held. A Python exception in it ends the job, too.
    void call(const std::function<void()>& function);

    /// Whether an exception ended the job.
    bool ended() const noexcept { return raised_ != nullptr; }
    /// Throws the exception that ended the job, if there is one. Precondition: holds the global lock.
    void rethrow() const;

  private:
    using Clock = std::chrono::steady_clock;
    template <class Call>
    void in_python(const Call& call);

    nanobind::handle listener_;
    CancellationToken& cancellation_;
    Clock::time_point last_{};
    std::exception_ptr raised_;
};

/// Warns the listener that the job was interrupted, and says how to continue it.
void tell_how_to_continue(nanobind::handle listener, const char* function, const std::string& folder);

template <class Outcome>
std::string folder_of(const Outcome& outcome) {
    if constexpr (requires { outcome.run_folder; })
        return outcome.run_folder.string();
    else
        return outcome.folder.string();
}

/// Calls `work(progress, cancellation)` without the global lock and returns its result. Throws what it
/// throws, or the Python exception that ended it.
template <class Work>
auto run_job(nanobind::handle listener, const Work& work) {
    CancellationToken cancellation;
    JobProgress progress(listener, cancellation);
    std::exception_ptr failure;
    std::optional<decltype(work(progress, cancellation))> result;
    {
        const nanobind::gil_scoped_release release;
        try {
            result.emplace(work(progress, cancellation));
        } catch (...) {
            failure = std::current_exception();
        }
    }
    progress.rethrow();
    if (failure)
        std::rethrow_exception(failure);
    return std::move(*result);
}

/// Like run_job(), for a job whose result says whether it was interrupted and in which folder. If Python ends
/// the job, for example with Ctrl-C, tells the listener how `function` continues it.
template <class Work>
auto run_resumable(nanobind::handle listener, const char* function, const Work& work) {
    std::string folder;
    try {
        return run_job(listener, [&](JobProgress& progress, const CancellationToken& cancellation) {
            auto outcome = work(progress, cancellation);
            if (outcome.interrupted)
                folder = folder_of(outcome);
            return outcome;
        });
    } catch (const nanobind::python_error&) {
        if (!folder.empty())
            tell_how_to_continue(listener, function, folder);
        throw;
    }
}

} // namespace rekindle::python
