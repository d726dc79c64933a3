#include "run/process_states.h"

#include "probes/child_process.h"
#include "probes/find_program.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <unistd.h>

namespace rekindle::doctor {

namespace {

constexpr std::size_t most_processes = 16;
constexpr std::chrono::seconds py_spy_deadline{20};

struct Status {
    pid_t pid = 0;
    std::string name;
    char state = '?';
    pid_t parent = 0;
    double cpu_seconds = 0;
};

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <class Number>
Number number_of(std::string_view text) {
    Number value{};
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// "pid (name) state ppid …", proc(5); the name may contain spaces and parentheses.
std::optional<Status> status_of(const std::filesystem::path& folder) {
    constexpr std::size_t state = 0;
    constexpr std::size_t parent = 1;
    constexpr std::size_t user_ticks = 11; // counted from the state
    constexpr std::size_t system_ticks = 12;
    const std::string text = text_of(folder / "stat");
    const std::size_t open = text.find('(');
    const std::size_t close = text.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close + 2 >= text.size())
        return std::nullopt;
    const std::vector<std::string_view> fields = split(std::string_view(text).substr(close + 2), ' ');
    if (fields.size() <= system_ticks || fields[state].empty())
        return std::nullopt;
    const double ticks = static_cast<double>(number_of<std::uint64_t>(fields[user_ticks]) +
                                             number_of<std::uint64_t>(fields[system_ticks]));
    return Status{.pid = number_of<pid_t>(std::string_view(text).substr(0, open)),
                  .name = text.substr(open + 1, close - open - 1),
                  .state = fields[state].front(),
                  .parent = number_of<pid_t>(fields[parent]),
                  .cpu_seconds = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK))};
}

std::vector<std::filesystem::path> numbered_folders(const std::filesystem::path& parent) {
    std::vector<std::filesystem::path> folders;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(parent, error), end; !error && entry != end;
         entry.increment(error))
        if (const std::string name = entry->path().filename().string();
            std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }))
            folders.push_back(entry->path());
    return folders;
}

/// `root` first, parents before children.
std::vector<Status> family_of(pid_t root) {
    std::multimap<pid_t, Status> by_parent;
    std::vector<Status> family;
    for (const std::filesystem::path& folder : numbered_folders("/proc"))
        if (const std::optional<Status> status = status_of(folder)) {
            if (status->pid == root)
                family.push_back(*status);
            by_parent.emplace(status->parent, *status);
        }
    for (std::size_t i = 0; i < family.size(); ++i) {
        const auto [begin, end] = by_parent.equal_range(family[i].pid);
        for (auto child = begin; child != end; ++child)
            family.push_back(child->second);
    }
    return family;
}

std::string word_of(char state) {
    switch (state) {
    case 'R':
        return "running";
    case 'S':
        return "waiting";
    case 'D':
        return "waiting inside the kernel, where signals do not end it";
    case 'T':
    case 't':
        return "stopped";
    case 'Z':
        return "ended, not yet collected by its parent";
    default:
        return fmt::format("in state {}", state);
    }
}

/// "12 threads: 11 in futex_wait_queue, 1 running".
std::string threads_of(pid_t pid) {
    std::map<std::string, std::size_t> places;
    std::size_t threads = 0;
    for (const std::filesystem::path& folder : numbered_folders(fmt::format("/proc/{}/task", pid))) {
        const std::optional<Status> status = status_of(folder);
        if (!status)
            continue;
        ++threads;
        const std::string where = text_of(folder / "wchan");
        ++places[status->state == 'R'            ? "running"
                 : where.empty() || where == "0" ? word_of(status->state)
                                                 : "in " + where];
    }
    std::vector<std::string> texts;
    for (const auto& [place, count] : places)
        texts.push_back(threads == 1 ? place : fmt::format("{} {}", count, place));
    return fmt::format("{}: {}", counted(threads, "thread"), fmt::join(texts, ", "));
}

std::string command_of(const Status& status) {
    constexpr std::size_t longest = 100;
    std::string command = text_of(fmt::format("/proc/{}/cmdline", status.pid));
    std::replace(command.begin(), command.end(), '\0', ' ');
    const std::string_view trimmed = trim(command);
    return trimmed.empty() ? status.name : printable_text(trimmed.substr(0, longest));
}

std::vector<std::string> python_stack(const std::string& py_spy, pid_t pid) {
    const ChildCommand command{.program = py_spy,
                               .arguments = {"dump", "--pid", fmt::format("{}", pid)},
                               .environment = {},
                               .input = {},
                               .deadline = py_spy_deadline};
    const std::vector<ChildOutcome> outcomes =
        run_children(std::span(&command, 1), [](std::size_t, std::string_view) {});
    const ChildOutcome& outcome = outcomes.front();
    if (outcome.end != ChildOutcome::End::exited || outcome.exit_status != 0)
        return {};
    std::vector<std::string> lines;
    for (const std::string_view line : split(outcome.written, '\n'))
        if (!trim(line).empty())
            lines.push_back("    " + std::string(line));
    return lines;
}

} // namespace

double cpu_seconds(pid_t root) {
    double seconds = 0;
    for (const Status& status : family_of(root))
        seconds += status.cpu_seconds;
    return seconds;
}

std::vector<std::string> process_states(pid_t root) {
    const std::vector<Status> family = family_of(root);
    const std::string py_spy = find_program("py-spy");
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < std::min(family.size(), most_processes); ++i) {
        const Status& status = family[i];
        lines.push_back(fmt::format("process {} ({}) is {}; {}", status.pid, command_of(status),
                                    word_of(status.state), threads_of(status.pid)));
        if (!py_spy.empty() && status.name.starts_with("python"))
            for (std::string& line : python_stack(py_spy, status.pid))
                lines.push_back(std::move(line));
    }
    if (family.size() > most_processes)
        lines.push_back(
            fmt::format("and {}", counted(family.size() - most_processes, "more process", "more processes")));
    return lines;
}

} // namespace rekindle::doctor
