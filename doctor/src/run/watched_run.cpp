#include "probes/find_program.h"
#include "probes/start_child.h"
#include "run/output_channel.h"
#include "run/process_states.h"

#include <rekindle/doctor/watched_run.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rekindle::doctor {

namespace {

using Clock = std::chrono::steady_clock;

/// How long to keep reading after the command has exited. A background process that it started may keep the
/// pipe open forever.
constexpr std::chrono::milliseconds rest_of_output{500};
constexpr std::chrono::milliseconds longest_wait{1000}; ///< between two checks for silence

/// Blocks the signals that this program must handle while the command runs, and reads them from a signalfd.
class HeldSignals {
  public:
    HeldSignals() {
        struct sigaction collected {};
        collected.sa_handler = SIG_DFL; // while SIGCHLD is ignored, waitpid() returns no exit status
        ::sigaction(SIGCHLD, &collected, &child_before_);
        ::sigemptyset(&signals_);
        for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE, SIGWINCH})
            ::sigaddset(&signals_, signal);
        ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
        descriptor_ = FileDescriptor(::signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    ~HeldSignals() {
        take([](int, bool) {}); // discard signals that were meant for the command
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        ::sigaction(SIGCHLD, &child_before_, nullptr);
    }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

    int descriptor() const noexcept { return descriptor_.get(); }
    const sigset_t& before() const noexcept { return before_; }

    /// Calls `act(signal, from_terminal)` for each pending signal.
    template <class Act>
    void take(Act&& act) const {
        signalfd_siginfo info{};
        while (::read(descriptor_.get(), &info, sizeof info) == sizeof info)
            act(static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL);
    }

  private:
    sigset_t signals_{};
    sigset_t before_{};
    struct sigaction child_before_ {};
    FileDescriptor descriptor_;
};

class SpawnActions {
  public:
    SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
    ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
    SpawnActions(const SpawnActions&) = delete;
    SpawnActions& operator=(const SpawnActions&) = delete;
    void connect(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }
    const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

  private:
    posix_spawn_file_actions_t actions_{};
};

class SpawnAttributes {
  public:
    explicit SpawnAttributes(const sigset_t& mask) {
        ::posix_spawnattr_init(&attributes_);
        ::posix_spawnattr_setsigmask(&attributes_, &mask);
        ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
    }
    ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
    SpawnAttributes(const SpawnAttributes&) = delete;
    SpawnAttributes& operator=(const SpawnAttributes&) = delete;
    const posix_spawnattr_t* get() const noexcept { return &attributes_; }

  private:
    posix_spawnattr_t attributes_{};
};

pid_t start(const std::vector<std::string>& command, const OutputChannels& channels,
            const HeldSignals& signals) {
    const std::string program = command.empty() ? "" : find_program(command.front());
    if (program.empty())
        throw usage_error(fmt::format("there is no program \"{}\"", command.empty() ? "" : command.front()))
            .expected("a program in PATH, or a path to one");
    std::vector<std::string> words = command;
    const std::vector<char*> arguments = pointers_to(words);
    SpawnActions actions;
    actions.connect(channels.of_output(), STDOUT_FILENO);
    actions.connect(channels.of_errors(), STDERR_FILENO);
    const SpawnAttributes attributes(signals.before());
    pid_t pid = -1;
    const int error =
        ::posix_spawn(&pid, program.c_str(), actions.get(), attributes.get(), arguments.data(), environ);
    if (error != 0)
        throw usage_error(fmt::format("{} cannot be started: {}", program, std::strerror(error)))
            .expected("a program");
    return pid;
}

/// Calls `on_silence` once each time the command stays silent for `limit`.
class SilenceWatch {
  public:
    SilenceWatch(std::chrono::milliseconds limit, const OnSilence& on_silence)
        : limit_(limit), on_silence_(on_silence) {}

    void output_arrived() {
        last_output_ = Clock::now();
        cpu_before_.reset();
        reported_ = false;
    }
    void look(pid_t pid) {
        const Clock::duration silence = Clock::now() - last_output_;
        if (limit_.count() == 0 || reported_)
            return;
        if (!cpu_before_ && silence >= std::min(limit_, longest_wait) / 2)
            cpu_before_ = cpu_seconds(pid);
        if (silence < limit_)
            return;
        reported_ = true;
        on_silence_({.seconds = std::chrono::duration<double>(silence).count(),
                     .cpu_seconds = std::max(0.0, cpu_seconds(pid) - cpu_before_.value_or(0)),
                     .processes = process_states(pid)});
    }

  private:
    std::chrono::milliseconds limit_;
    const OnSilence& on_silence_;
    Clock::time_point last_output_ = Clock::now();
    std::optional<double> cpu_before_; ///< sampled once per silence, so that /proc is not read for every line
    bool reported_ = false;
};

/// The line that a shell prints when a signal ends a command; "" if it prints none.
std::string_view line_of_shell(int signal) {
    switch (signal) {
    case SIGKILL:
        return "Killed\n";
    case SIGSEGV:
        return "Segmentation fault\n";
    case SIGABRT:
        return "Aborted\n";
    case SIGBUS:
        return "Bus error\n";
    case SIGFPE:
        return "Floating point exception\n";
    case SIGILL:
        return "Illegal instruction\n";
    case SIGTERM:
        return "Terminated\n";
    default:
        return "";
    }
}

/// Forwards signals that another process sent. The terminal sends Ctrl-C to the command as well, because it
/// is in the same process group.
void pass_on(pid_t pid, int signal, bool from_terminal, const OutputChannels& channels) {
    if (signal == SIGWINCH)
        channels.follow_window_size();
    else if (signal != SIGCHLD && signal != SIGPIPE && !from_terminal)
        ::kill(pid, signal);
}

/// Calls RunRequest::on_tick when it is due.
class Ticker {
  public:
    explicit Ticker(const RunRequest& request) : request_(request) {}

    /// Time until the next tick, at most `longest`.
    std::chrono::milliseconds until_next(std::chrono::milliseconds longest) const {
        if (request_.tick.count() == 0)
            return longest;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_ - Clock::now());
        return std::clamp(left, std::chrono::milliseconds(0), longest);
    }
    void look() {
        if (request_.tick.count() == 0 || Clock::now() < next_)
            return;
        request_.on_tick();
        next_ = std::max(next_ + request_.tick, Clock::now());
    }

  private:
    const RunRequest& request_;
    Clock::time_point next_ = Clock::now();
};

/// Copies the output until the command exits. Returns its wait status.
int follow(pid_t pid, const RunRequest& request, OutputChannels& channels, const HeldSignals& signals,
           SilenceWatch& watch, LogCollector& log) {
    Ticker ticker(request);
    int status = 0;
    Clock::time_point ended{};
    bool running = true;
    while (running || (channels.open() && Clock::now() - ended < rest_of_output)) {
        std::vector<pollfd> polled{{signals.descriptor(), POLLIN, 0}};
        channels.add_to(polled);
        ::poll(polled.data(), polled.size(),
               static_cast<int>((running ? ticker.until_next(longest_wait) : rest_of_output).count()));
        if (request.before_output &&
            std::any_of(polled.begin() + 1, polled.end(), [](const pollfd& one) { return one.revents != 0; }))
            request.before_output();
        if (channels.copy(log))
            watch.output_arrived();
        signals.take([&](int signal, bool from_terminal) { pass_on(pid, signal, from_terminal, channels); });
        if (running && ::waitpid(pid, &status, WNOHANG) == pid) {
            running = false;
            ended = Clock::now();
        }
        if (running) {
            watch.look(pid);
            ticker.look();
        }
    }
    return status;
}

} // namespace

bool RunResult::interrupted() const noexcept {
    const int ended_by = exit_status > 128 ? exit_status - 128 : signal;
    return ended_by == SIGINT || ended_by == SIGQUIT || ended_by == SIGTERM || ended_by == SIGHUP;
}

WatchedRun run_watched(const RunRequest& request, const OnSilence& on_silence) {
    const HeldSignals signals;
    OutputChannels channels(request.output_to_errors);
    SilenceWatch watch(request.silence, on_silence);
    LogCollector log;
    const Clock::time_point begin = Clock::now();
    const pid_t pid = start(request.command, channels, signals);
    channels.close_far_ends();
    const int status = follow(pid, request, channels, signals, watch, log);
    WatchedRun run;
    run.result.command = request.command;
    run.result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    run.result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    run.result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    log.append(line_of_shell(run.result.signal));
    run.log = log.text("the output of the command");
    return run;
}

std::string ending_of(const RunResult& result) {
    if (result.signal == 0)
        return fmt::format("exited with status {}", result.exit_status);
    const char* name = ::sigabbrev_np(result.signal);
    return name == nullptr ? fmt::format("was ended by signal {}", result.signal)
                           : fmt::format("was ended by SIG{}", name);
}

} // namespace rekindle::doctor
