#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/run_folder.h>

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <mutex>

namespace rekindle::trainer {

namespace {

std::string log_timestamp() {
    using namespace std::chrono;
    const auto now = system_clock::now();
    const std::time_t seconds = system_clock::to_time_t(now);
    const auto milliseconds = duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02},{:03} UTC", utc.tm_year + 1900, utc.tm_mon + 1,
                       utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, milliseconds);
}

constexpr std::string_view level_name(LogLevel level) {
    switch (level) {
    case LogLevel::debug:
        return "DEBUG";
    case LogLevel::info:
        return "INFO";
    default:
        return "WARNING";
    }
}

} // namespace

struct LoggedProgress::State {
    ProgressSink& next;
    std::mutex mutex;
    std::string held_back;
    std::ofstream file;

    void keep(std::string_view name, std::string_view level, std::string_view message) {
        const std::string line = fmt::format("{} - {} - {} - {}\n", log_timestamp(), name, level, message);
        const std::lock_guard lock(mutex);
        if (file.is_open())
            file << line << std::flush;
        else
            held_back += line;
    }
};

LoggedProgress::LoggedProgress(ProgressSink& next) : state_(new State{next, {}, {}, {}}) {}
LoggedProgress::~LoggedProgress() = default;

void LoggedProgress::open(const std::filesystem::path& run_folder) {
    ensure_directory(run_folder / "logs");
    const std::string now = log_timestamp();
    const std::string timestamp = now.substr(0, 4) + now.substr(5, 2) + now.substr(8, 2) + "_" +
                                  now.substr(11, 2) + now.substr(14, 2) + now.substr(17, 2);
    const auto path = run_folder / "logs" / fmt::format("futures_vpoc_{}.log", timestamp);
    const std::lock_guard lock(state_->mutex);
    state_->file.open(path, std::ios::app);
    if (!state_->file)
        throw Error("cannot write").at(path.string()).hint("Choose a folder that you can write to.");
    state_->file << state_->held_back << std::flush;
    state_->held_back.clear();
}

void LoggedProgress::log(LogLevel level, std::string_view message) {
    state_->keep("rekindle", level_name(level), message);
    state_->next.log(level, message);
}

void LoggedProgress::advanced(const StageProgress& progress) {
    state_->next.advanced(progress);
}

void LoggedProgress::stage_ended(std::string_view stage, double seconds, std::string_view summary) {
    state_->keep("rekindle", "INFO", fmt::format("{}: {} ({})", stage, summary, format_duration(seconds)));
    state_->next.stage_ended(stage, seconds, summary);
}

void LoggedProgress::epoch_ended(const EpochMetrics& m) {
    state_->keep(
        "rekindle", "INFO",
        fmt::format("epoch {}/{}: loss {:.6g}, validation loss {:.6g}, learning rate {:.3g}, {:.0f} rows/s",
                    m.epoch, m.epochs, m.train_loss, m.validation_loss, m.learning_rate, m.rows_per_second));
    state_->next.epoch_ended(m);
}

} // namespace rekindle::trainer
