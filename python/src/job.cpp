#include "job.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <string>

namespace rekindle::python {

namespace nb = nanobind;

namespace {

constexpr std::chrono::milliseconds between_updates{50};

const char* name_of(LogLevel level) {
    switch (level) {
    case LogLevel::debug:
        return "debug";
    case LogLevel::info:
        return "info";
    case LogLevel::warning:
        return "warning";
    case LogLevel::error:
        return "error";
    }
    return "";
}

} // namespace

template <class Call>
void JobProgress::in_python(const Call& call) {
    const nb::gil_scoped_acquire acquire;
    if (raised_)
        return;
    try {
        if (PyErr_CheckSignals() != 0)
            throw nb::python_error();
        call();
    } catch (const nb::python_error&) {
        raised_ = std::current_exception();
        cancellation_.request();
    }
}

void JobProgress::log(LogLevel level, std::string_view message) {
    in_python([&] { listener_.attr("message")(name_of(level), message); });
}

void JobProgress::advanced(const trainer::StageProgress& progress) {
    const auto now = Clock::now();
    if (now - last_ < between_updates)
        return;
    last_ = now;
    in_python([&] {
        listener_.attr("advanced")(progress.stage, progress.done, progress.total, progress.unit,
                                   progress.loss, progress.validation_loss, progress.learning_rate,
                                   progress.networks);
    });
}

void JobProgress::stage_ended(std::string_view stage, double seconds, std::string_view summary) {
    in_python([&] { listener_.attr("stage_ended")(stage, seconds, summary); });
}

void JobProgress::epoch_ended(const trainer::EpochMetrics& metrics) {
    in_python([&] {
        listener_.attr("epoch_ended")(metrics.epoch, metrics.epochs, metrics.train_loss,
                                      metrics.validation_loss, metrics.accuracy, metrics.learning_rate,
                                      metrics.best, metrics.seconds, metrics.networks);
    });
}

void JobProgress::call(const std::function<void()>& function) {
    in_python(function);
}

void tell_how_to_continue(nb::handle listener, const char* function, const std::string& folder) {
    listener.attr("message")("warning", "The job was interrupted; " + std::string(function) +
                                            "(bars, resume_from_checkpoint=\"" + folder +
                                            "\") continues it.");
}

void JobProgress::rethrow() const {
    if (raised_)
        std::rethrow_exception(raised_);
}

} // namespace rekindle::python
