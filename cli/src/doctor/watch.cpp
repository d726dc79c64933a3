#include "watch.h"

#include "../interruption.h"
#include "gpu_readings.h"
#include "screen.h"

#include <rekindle/cli/text_layout.h>
#include <rekindle/doctor/watched_run.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <thread>

namespace rekindle::cli {

namespace {

using namespace doctor;
using Clock = std::chrono::steady_clock;

/// Writes rows to a new file or to standard output, and flushes each one, so that the readings survive a
/// crash of the run. (AtomicFile would lose them.)
class CsvOutput {
  public:
    CsvOutput(std::string path, Stream& output) : path_(std::move(path)), output_(output) {
        if (path_ != "-")
            open();
        write(csv_header());
    }
    void write(const std::string& row) {
        if (path_ == "-") {
            output_.line(row);
            return output_.flush();
        }
        file_ << row << '\n' << std::flush;
        if (!file_)
            throw Error(fmt::format("cannot write to {}: {}", path_, std::strerror(errno)));
    }

  private:
    void open() {
        if (std::filesystem::exists(path_))
            throw usage_error("the file already exists")
                .at("--csv " + path_)
                .expected("the name of a new file");
        file_.open(path_);
        if (!file_)
            throw usage_error(fmt::format("cannot be written: {}", std::strerror(errno)))
                .at("--csv " + path_)
                .expected("a new file in a folder that exists");
    }

    std::string path_;
    Stream& output_;
    std::ofstream file_;
};

/// Shows rows below the command's output. The command may have left the cursor anywhere in a line; drawing
/// and erasing put it back there.
class LiveView {
  public:
    explicit LiveView(Stream& stream) : stream_(stream) {}

    void erase() {
        if (!std::exchange(shown_, false))
            return;
        stream_.write("\0337\033[E\033[J\0338"); // clears everything below the cursor's line
        stream_.flush();
    }
    void draw(const std::vector<std::string>& rows) {
        erase();
        const std::size_t width = stream_.current_width();
        std::string text;
        for (std::size_t i = 0; i < rows.size(); ++i)
            text += "\033D"; // moves down in the same column; scrolls at the bottom of the screen
        text += fmt::format("\033[{}A\0337", rows.size());
        for (const std::string& row : rows)
            text += "\033[E\033[K" + cut(row, width);
        stream_.write(text + "\0338");
        stream_.flush();
        shown_ = true;
    }

  private:
    static std::string cut(const std::string& row, std::size_t width) {
        std::size_t end = row.size();
        while (display_width(std::string_view(row).substr(0, end)) >= width)
            do
                --end;
            while (end > 0 && (static_cast<unsigned char>(row[end]) & 0xC0) == 0x80);
        return row.substr(0, end);
    }

    Stream& stream_;
    bool shown_ = false;
};

/// Takes readings and shows them.
class Watch {
  public:
    Watch(Context& context, const Knowledge& knowledge, bool beside_command)
        : stream_(beside_command ? context.errors : context.output), errors_(context.errors), view_(stream_),
          count_(context.line.integer("count", 0)),
          monitor_({.root = context.line.text("root", "/"), .interval = interval_of(context.line)},
                   knowledge) {
        if (!context.line.has("csv"))
            return;
        csv_.emplace(context.line.text("csv"), context.output);
        csv_on_output_ = context.line.text("csv") == "-";
    }

    static std::chrono::milliseconds interval_of(const CommandLine& line) {
        return std::chrono::milliseconds(static_cast<int>(line.number("interval", 1) * 1000));
    }

    /// Whether the last reading found a GPU.
    bool sees_gpus() const noexcept { return sees_gpus_; }
    bool finished() const noexcept { return count_ > 0 && taken_ >= count_; }
    void hide() { view_.erase(); }

    void take() {
        if (finished())
            return;
        const MonitorSample sample = monitor_.read();
        const Clock::time_point now = Clock::now();
        if (taken_ == 0)
            first_ = last_ = now;
        sees_gpus_ = !sample.gpus.empty();
        summary_.add(sample, std::chrono::duration<double>(now - last_).count());
        last_ = now;
        say(sample);
        write_csv(sample);
        show(sample);
        ++taken_;
    }

    void summarize() {
        view_.erase();
        for (const std::string& line : summary_.lines())
            (csv_on_output_ ? errors_ : stream_).line(line);
    }

  private:
    void say(const MonitorSample& sample) {
        std::vector<std::string> lines = missing_.fresh(sample, taken_ == 0 && count_ != 1);
        for (const std::string& line : sample.new_errors)
            lines.push_back("kernel log: " + line);
        if (lines.empty())
            return;
        view_.erase();
        for (const std::string& line : lines)
            errors_.line("rekindle doctor: " + line);
        errors_.flush();
    }

    void write_csv(const MonitorSample& sample) {
        if (!csv_)
            return;
        const std::string time = now_as_text();
        for (std::size_t i = 0; i < sample.gpus.size(); ++i)
            csv_->write(
                csv_row(time, std::chrono::duration<double>(last_ - first_).count(), i, sample.gpus[i]));
    }

    static std::string now_as_text() {
        const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
        const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
        return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", seconds, (now - seconds).count());
    }

    void show(const MonitorSample& sample) {
        if (csv_on_output_)
            return;
        if (stream_.traits().interactive) {
            std::vector<std::string> rows{header_of_rows()};
            for (std::size_t i = 0; i < sample.gpus.size(); ++i)
                rows.push_back(render_row(i, sample.gpus[i]));
            return view_.draw(rows);
        }
        if (csv_)
            return;
        const std::string time = now_as_text().substr(11, 8);
        for (std::size_t i = 0; i < sample.gpus.size(); ++i)
            stream_.line(fmt::format("{} UTC {}", time, render_line(i, sample.gpus[i])));
        stream_.flush();
    }

    Stream& stream_;
    Stream& errors_;
    LiveView view_;
    std::optional<CsvOutput> csv_;
    bool csv_on_output_ = false;
    std::int64_t count_;
    std::int64_t taken_ = 0;
    bool sees_gpus_ = false;
    Clock::time_point first_{}, last_{};
    MissingValues missing_;
    ReadingSummary summary_;
    GpuMonitor monitor_;
};

/// Returns whether there was a GPU to watch.
bool watch_until_interrupted(Watch& watch, std::chrono::milliseconds interval) {
    constexpr std::chrono::milliseconds longest_sleep{50};
    CancellationToken token;
    const InterruptionGuard guard(token);
    Clock::time_point next = Clock::now();
    while (!token.requested() && !watch.finished()) {
        watch.take();
        if (!watch.sees_gpus())
            return false;
        next = std::max(next + interval, Clock::now());
        while (!token.requested() && !watch.finished() && Clock::now() < next)
            std::this_thread::sleep_for(std::min<Clock::duration>(longest_sleep, next - Clock::now()));
    }
    return true;
}

} // namespace

ExitStatus watch_gpus(Context& context, const Knowledge& knowledge) {
    const CommandLine& line = context.line;
    const bool beside_command = !line.positionals.empty();
    if (beside_command && line.has("root"))
        throw usage_error("--root cannot be combined with a command")
            .expected("--watch --root FOLDER, or --watch -- COMMAND");
    if (beside_command && line.text("csv") == "-")
        throw usage_error("standard output belongs to the command").at("--csv -").expected("--csv FILE");
    if (const std::string root = line.text("root", "/"); !std::filesystem::is_directory(root))
        throw usage_error("no such folder").at("--root " + root).expected("the root of a recorded host");
    Watch watch(context, knowledge, beside_command);
    if (!beside_command) {
        const bool watched = watch_until_interrupted(watch, Watch::interval_of(line));
        watch.summarize();
        return watched ? ExitStatus::success : ExitStatus::failed;
    }
    context.output.flush();
    const WatchedRun run = run_watched({.command = line.positionals,
                                        .tick = Watch::interval_of(line),
                                        .on_tick = [&] { watch.take(); },
                                        .before_output = [&] { watch.hide(); }},
                                       [](const Silence&) {});
    watch.summarize();
    context.errors.line(render_run(run.result));
    return static_cast<ExitStatus>(run.result.shell_status());
}

} // namespace rekindle::cli
