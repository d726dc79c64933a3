#include "probes/child_process.h"

#include "probes/start_child.h"
#include "text/utf8.h"

#include <rekindle/foundation/file.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rekindle::doctor {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kept_output = 4096;
constexpr std::size_t longest_line = 64UL * 1024;
constexpr std::size_t max_results = 4UL * 1024 * 1024;
/// So that a flood of output does not delay checking the clock.
constexpr std::size_t read_at_once = 64UL * 1024;
constexpr std::chrono::milliseconds tick{20};

/// Reads what is available, at most read_at_once bytes. Closes the descriptor at the end of the data.
std::string read_available(FileDescriptor& descriptor) {
    std::string bytes;
    while (descriptor && bytes.size() < read_at_once) {
        char buffer[8192];
        const ssize_t count = ::read(descriptor.get(), buffer, sizeof buffer);
        if (count > 0)
            bytes.append(buffer, static_cast<std::size_t>(count));
        else if (count < 0 && errno == EINTR)
            continue;
        else if (count < 0 && errno == EAGAIN)
            break;
        else
            descriptor = FileDescriptor();
    }
    return bytes;
}

/// One child from start to end.
class Child {
  public:
    Child(const ChildCommand& command, std::size_t number, const ResultLine& on_line)
        : command_(command), number_(number), on_line_(on_line), start_(Clock::now()),
          deadline_(start_ + command.deadline) {
        started_ = start_child(command);
        if (!started_.error.empty()) {
            outcome_.why = started_.error;
            over_ = true;
        }
    }

    bool over() const noexcept { return over_; }

    /// When to check on it at the latest, whatever its descriptors report.
    Clock::time_point next_look(Clock::time_point now) const {
        const bool silent = !started_.output && !started_.results;
        const auto soon = now + (silent ? std::chrono::milliseconds(1) : tick);
        return killed_at_ ? soon : std::min(soon, deadline_);
    }

    void add_to(std::vector<pollfd>& polled) const {
        for (const FileDescriptor* descriptor : {&started_.output, &started_.results})
            if (*descriptor)
                polled.push_back({descriptor->get(), POLLIN, 0});
    }

    void look(Clock::time_point now) {
        take_output();
        if (has_ended()) {
            reap();
            return;
        }
        if (!killed_at_ && (now >= deadline_ || !outcome_.why.empty())) {
            ::kill(started_.pid, SIGKILL);
            ::kill(-started_.pid, SIGKILL);
            killed_at_ = now;
        } else if (killed_at_ && now >= *killed_at_ + command_.kill_grace) {
            finish(ChildOutcome::End::unkillable);
        }
    }

    ChildOutcome take_outcome() { return std::move(outcome_); }

  private:
    void take_output() {
        outcome_.written += read_available(started_.output);
        if (outcome_.written.size() > 2 * kept_output)
            outcome_.written.erase(0, outcome_.written.size() - kept_output);
        take_lines(read_available(started_.results));
    }

    void take_lines(std::string_view bytes) {
        results_seen_ += bytes.size();
        while (!bytes.empty() && outcome_.why.empty()) {
            const std::size_t end = bytes.find('\n');
            line_ += bytes.substr(0, end);
            if (line_.size() > longest_line || results_seen_ > max_results)
                outcome_.why = "it wrote more results than any probe produces";
            if (end == std::string_view::npos || !outcome_.why.empty())
                return;
            bytes.remove_prefix(end + 1);
            if (command_.deadline_restarts)
                deadline_ = Clock::now() + command_.deadline;
            on_line_(number_, line_);
            line_.clear();
        }
    }

    /// Leaves it a zombie, so that its pid and the id of its group are not reused.
    bool has_ended() const {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(started_.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               info.si_pid == started_.pid;
    }

    void reap() {
        ::kill(-started_.pid, SIGKILL);
        int status = 0;
        while (::waitpid(started_.pid, &status, 0) < 0 && errno == EINTR) {
        }
        // What it wrote before it ended may take more than one read; stragglers may keep the pipes open.
        while (started_.output || started_.results) {
            const std::size_t seen = results_seen_;
            const std::string rest = read_available(started_.output);
            outcome_.written += rest;
            take_lines(read_available(started_.results));
            if (rest.empty() && seen == results_seen_)
                break;
        }
        if (WIFEXITED(status))
            outcome_.exit_status = WEXITSTATUS(status);
        else if (WIFSIGNALED(status))
            outcome_.signal = WTERMSIG(status);
        finish(killed_at_            ? ChildOutcome::End::killed
               : WIFSIGNALED(status) ? ChildOutcome::End::signaled
                                     : ChildOutcome::End::exited);
    }

    void finish(ChildOutcome::End end) {
        outcome_.end = end;
        outcome_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
        std::string_view tail = outcome_.written;
        if (tail.size() > kept_output)
            tail.remove_prefix(tail.size() - kept_output);
        outcome_.written = printable_text(tail);
        started_.output = FileDescriptor();
        started_.results = FileDescriptor();
        over_ = true;
    }

    const ChildCommand& command_;
    std::size_t number_;
    const ResultLine& on_line_;
    Clock::time_point start_;
    Clock::time_point deadline_;
    StartedChild started_;
    std::optional<Clock::time_point> killed_at_;
    std::string line_;
    std::size_t results_seen_ = 0;
    ChildOutcome outcome_;
    bool over_ = false;
};

void wait_for_any(const std::vector<Child>& children) {
    const Clock::time_point now = Clock::now();
    Clock::time_point next = now + tick;
    std::vector<pollfd> polled;
    for (const Child& child : children)
        if (!child.over()) {
            child.add_to(polled);
            next = std::min(next, child.next_look(now));
        }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
    ::poll(polled.data(), polled.size(), static_cast<int>(std::max<std::int64_t>(wait, 0)));
}

} // namespace

std::vector<ChildOutcome> run_children(std::span<const ChildCommand> commands, const ResultLine& on_line) {
    std::vector<Child> children;
    children.reserve(commands.size());
    for (std::size_t i = 0; i < commands.size(); ++i)
        children.emplace_back(commands[i], i, on_line);
    while (!std::ranges::all_of(children, &Child::over)) {
        wait_for_any(children);
        for (Child& child : children)
            if (!child.over())
                child.look(Clock::now());
    }
    std::vector<ChildOutcome> outcomes;
    outcomes.reserve(children.size());
    for (Child& child : children)
        outcomes.push_back(child.take_outcome());
    return outcomes;
}

std::string printable_text(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
        const std::size_t length = utf8_length(bytes);
        const unsigned char first = static_cast<unsigned char>(bytes[0]);
        const bool control = (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
        text += length == 0 || control ? std::string_view("?") : bytes.substr(0, length);
        bytes.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return text;
}

} // namespace rekindle::doctor
