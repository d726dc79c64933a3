#include <rekindle/base/text.h>
#include <rekindle/cli/progress_view.h>
#include <rekindle/cli/text_layout.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace rekindle::cli {

namespace {

constexpr double live_interval = 0.1;  ///< seconds between updates of the live line
constexpr double plain_interval = 5.0; ///< seconds between plain lines of a stage

/// JSON has no NaN: unknown values are null.
nlohmann::ordered_json known(double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

std::string level_name(LogLevel level) {
    return level == LogLevel::error     ? "error"
           : level == LogLevel::warning ? "warning"
           : level == LogLevel::info    ? "info"
                                        : "debug";
}

std::string amount(std::uint64_t value, std::string_view unit) {
    return unit == "bytes" ? format_bytes(value)
                           : fmt::format("{} {}", with_thousands(static_cast<std::int64_t>(value)), unit);
}

std::string done_of_total(const trainer::StageProgress& progress) {
    if (progress.total == 0)
        return amount(progress.done, progress.unit);
    const double share = 100.0 * static_cast<double>(progress.done) / static_cast<double>(progress.total);
    return fmt::format("{:3.0f} %", std::min(share, 100.0));
}

double seconds_left(const trainer::StageProgress& progress, double elapsed) {
    if (progress.total == 0 || progress.done == 0 || progress.done >= progress.total)
        return 0;
    return elapsed * static_cast<double>(progress.total - progress.done) / static_cast<double>(progress.done);
}

} // namespace

double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string format_rate(double per_second, std::string_view unit) {
    if (unit == "bytes")
        return format_bytes(static_cast<std::uint64_t>(per_second)) + "/s";
    if (per_second >= 1e6)
        return fmt::format("{:.1f} M {}/s", per_second / 1e6, unit);
    return fmt::format("{} {}/s", with_thousands(std::llround(per_second)), unit);
}

std::string progress_line(const trainer::StageProgress& progress, double elapsed, std::size_t width) {
    std::vector<std::string> parts{std::string(progress.stage), done_of_total(progress)};
    if (progress.networks > 1)
        parts.push_back(with_thousands(static_cast<std::int64_t>(progress.networks)) + " networks");
    if (elapsed > 0 && progress.done > 0)
        parts.push_back(format_rate(static_cast<double>(progress.done) / elapsed, progress.unit));
    if (const double left = seconds_left(progress, elapsed); left > 0)
        parts.push_back(format_duration(left) + " left");
    if (std::isfinite(progress.loss))
        parts.push_back(fmt::format("loss {:.5g}", progress.loss));
    if (std::isfinite(progress.validation_loss))
        parts.push_back(fmt::format("validation {:.5g}", progress.validation_loss));
    if (std::isfinite(progress.learning_rate))
        parts.push_back(fmt::format("rate {:.3g}", progress.learning_rate));
    std::string line;
    for (const std::string& part : parts) {
        const std::string_view separator = line.empty() ? "" : "  ";
        if (display_width(line) + separator.size() + display_width(part) > width)
            break;
        line += separator;
        line += part;
    }
    return line.empty() ? parts.front().substr(0, width) : line;
}

std::string epoch_line(const trainer::EpochMetrics& metrics) {
    const std::string direction =
        std::isnan(metrics.accuracy) ? "unknown" : fmt::format("{:.1f} %", 100 * metrics.accuracy);
    if (metrics.networks > 1)
        return fmt::format("epoch {}/{}  {} networks  median loss {:.5g}  validation {:.5g}, lowest {:.5g}{} "
                           " direction {}  {}  {}",
                           metrics.epoch, metrics.epochs,
                           with_thousands(static_cast<std::int64_t>(metrics.networks)), metrics.train_loss,
                           metrics.validation_loss, metrics.lowest_validation_loss,
                           metrics.best ? " (best)" : "", direction,
                           format_rate(metrics.rows_per_second, "rows"), format_duration(metrics.seconds));
    return fmt::format("epoch {}/{}  loss {:.5g}  validation {:.5g}{}  direction {}  rate {:.3g}  {}  {}",
                       metrics.epoch, metrics.epochs, metrics.train_loss, metrics.validation_loss,
                       metrics.best ? " (best)" : "", direction, metrics.learning_rate,
                       format_rate(metrics.rows_per_second, "rows"), format_duration(metrics.seconds));
}

ProgressView::ProgressView(Stream& output, Stream& errors, MessageOptions options, SteadySeconds now)
    : output_(output), errors_(errors), options_(options), now_(std::move(now)) {}

ProgressView::~ProgressView() {
    finish();
}

void ProgressView::finish() {
    const std::lock_guard lock(mutex_);
    remove_live_line();
    output_.flush();
}

void ProgressView::remove_live_line() {
    if (live_line_)
        output_.write("\r\033[K");
    live_line_ = false;
}

void ProgressView::print(Stream& stream, std::string_view line) {
    remove_live_line();
    output_.flush();
    stream.line(line);
    stream.flush();
}

void ProgressView::print_json(Stream& stream, const nlohmann::ordered_json& event) {
    stream.line(event.dump(-1, ' ', !stream.traits().utf8, nlohmann::json::error_handler_t::replace));
    stream.flush();
}

void ProgressView::log(LogLevel level, std::string_view message) {
    const std::lock_guard lock(mutex_);
    if ((level == LogLevel::debug && !options_.verbose) || (level < LogLevel::warning && options_.quiet))
        return;
    Stream& stream = level >= LogLevel::warning ? errors_ : output_;
    if (options_.json)
        print_json(stream, {{"event", "message"}, {"level", level_name(level)}, {"message", message}});
    else
        print(stream, level >= LogLevel::warning ? level_name(level) + ": " + std::string(message)
                                                 : std::string(message));
}

void ProgressView::advanced(const trainer::StageProgress& progress) {
    const std::lock_guard lock(mutex_);
    if (options_.quiet)
        return;
    const double now = now_();
    const bool live = output_.traits().interactive && !options_.json;
    const bool new_stage = stage_ != progress.stage;
    if (new_stage) {
        stage_ = progress.stage;
        stage_began_ = now;
        last_shown_ = now;
    }
    const bool due = new_stage ? live : now - last_shown_ >= (live ? live_interval : plain_interval);
    if (!due)
        return;
    last_shown_ = now;
    const double elapsed = now - stage_began_;
    if (options_.json) {
        const double left = seconds_left(progress, elapsed);
        nlohmann::ordered_json event{{"event", "progress"},
                                     {"stage", progress.stage},
                                     {"done", progress.done},
                                     {"total", progress.total},
                                     {"unit", progress.unit},
                                     {"seconds", elapsed},
                                     {"seconds_left", left > 0 ? nlohmann::ordered_json(left) : nullptr},
                                     {"loss", known(progress.loss)},
                                     {"validation_loss", known(progress.validation_loss)},
                                     {"learning_rate", known(progress.learning_rate)}};
        if (progress.networks > 1)
            event["networks"] = progress.networks;
        print_json(output_, event);
    } else if (live) {
        output_.write("\r\033[K" + progress_line(progress, elapsed, output_.current_width() - 1));
        output_.flush();
        live_line_ = true;
    } else {
        print(output_, progress_line(progress, elapsed, 200));
    }
}

void ProgressView::stage_ended(std::string_view stage, double seconds, std::string_view summary) {
    const std::lock_guard lock(mutex_);
    stage_.clear();
    if (options_.quiet)
        return;
    if (options_.json)
        print_json(output_,
                   {{"event", "stage"}, {"stage", stage}, {"seconds", seconds}, {"summary", summary}});
    else
        print(output_, fmt::format("{}: {} ({})", stage, summary, format_duration(seconds)));
}

void ProgressView::epoch_ended(const trainer::EpochMetrics& metrics) {
    const std::lock_guard lock(mutex_);
    if (options_.quiet)
        return;
    if (!options_.json) {
        print(output_, epoch_line(metrics));
        return;
    }
    nlohmann::ordered_json event{{"event", "epoch"},
                                 {"epoch", metrics.epoch},
                                 {"epochs", metrics.epochs},
                                 {"train_loss", known(metrics.train_loss)},
                                 {"validation_loss", known(metrics.validation_loss)},
                                 {"accuracy", known(metrics.accuracy)},
                                 {"learning_rate", known(metrics.learning_rate)},
                                 {"gradient_norm", known(metrics.gradient_norm)},
                                 {"steps", metrics.steps},
                                 {"seconds", metrics.seconds},
                                 {"rows_per_second", known(metrics.rows_per_second)},
                                 {"best", metrics.best}};
    if (metrics.networks > 1) {
        event["networks"] = metrics.networks;
        event["lowest_validation_loss"] = known(metrics.lowest_validation_loss);
    }
    print_json(output_, event);
}

} // namespace rekindle::cli
