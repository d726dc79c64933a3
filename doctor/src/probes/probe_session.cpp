#include "probes/probe_session.h"

#include "probes/probe_child.h"
#include "probes/probe_lines.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace rekindle::doctor {

namespace {

ChildCommand command_of(const ProbeTask& task, const ProbeOptions& options) {
    ChildCommand command;
    command.program = options.program;
    command.arguments = {std::string(probe_option), task.id};
    command.arguments.insert(command.arguments.end(), task.parameters.begin(), task.parameters.end());
    command.environment = task.environment;
    command.deadline = options.deadline * task.patience;
    command.deadline_restarts = true;
    return command;
}

/// The reports of one child so far.
struct Conversation {
    std::vector<ProbeResult> results;
    std::string step;
    std::string mistake;
    std::string vram_before;

    void hear(std::string_view text) {
        try {
            ProbeLine line = parse_probe_line(text);
            if (line.result)
                results.push_back(std::move(*line.result));
            else
                step = line.step;
        } catch (const Error& error) {
            mistake = error.message();
        }
    }
};

ProbeResult unfinished(const ProbeTask& task, const Conversation& heard, const ChildOutcome& outcome,
                       std::chrono::milliseconds deadline) {
    ProbeResult result;
    result.id = task.id;
    result.device = task.device;
    conclude(result, outcome, heard.step, deadline);
    if (!heard.mistake.empty())
        result.reason += fmt::format(" ({})", heard.mistake);
    return result;
}

std::string signal_text(int signal) {
    const char* name = ::sigabbrev_np(signal);
    return name != nullptr ? fmt::format("SIG{} ({})", name, signal) : fmt::format("signal {}", signal);
}

} // namespace

void ProbeSession::skip(std::string id, std::string device, std::string reason) {
    ProbeResult result;
    result.id = std::move(id);
    result.device = std::move(device);
    result.reason = std::move(reason);
    results_.push_back(std::move(result));
}

void ProbeSession::run(const std::vector<ProbeTask>& tasks) {
    std::vector<ChildCommand> commands;
    std::vector<Conversation> heard(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        commands.push_back(command_of(tasks[i], options_));
        heard[i].vram_before = vram_in_use(facts_, tasks[i].device);
    }
    const std::vector<ChildOutcome> outcomes =
        run_children(commands, [&](std::size_t child, std::string_view line) { heard[child].hear(line); });
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const ChildOutcome& outcome = outcomes[i];
        std::vector<ProbeResult>& results = heard[i].results;
        const bool orderly = outcome.end == ChildOutcome::End::exited && outcome.exit_status == 0;
        if (results.empty() || !orderly)
            results.push_back(unfinished(tasks[i], heard[i], outcome, commands[i].deadline));
        results.front().seconds = outcome.seconds;
        results.front().errors = outcome.written;
        if (!heard[i].vram_before.empty()) {
            results.front().values["vram_before"] = heard[i].vram_before;
            results.front().values["vram_after"] = vram_in_use(facts_, tasks[i].device);
        }
        std::ranges::move(results, std::back_inserter(results_));
    }
}

std::vector<ProbeResult> ProbeSession::devices_of(const std::string& id) const {
    std::vector<ProbeResult> devices;
    std::ranges::copy_if(results_, std::back_inserter(devices), [&](const ProbeResult& result) {
        return result.id == id && !result.device.empty();
    });
    return devices;
}

void conclude(ProbeResult& result, const ChildOutcome& outcome, const std::string& step,
              std::chrono::milliseconds deadline) {
    using End = ChildOutcome::End;
    const std::string where = step.empty() ? std::string() : fmt::format(", in {}", step);
    const std::string limit = format_duration(std::chrono::duration<double>(deadline).count());
    result.seconds = outcome.seconds;
    result.exit_status = outcome.exit_status;
    result.signal = outcome.signal;
    result.errors = outcome.written;
    switch (outcome.end) {
    case End::exited:
        result.status = ProbeStatus::crashed;
        result.reason =
            fmt::format("the process ended without a result, exit status {}{}", outcome.exit_status, where);
        break;
    case End::signaled:
        result.status = ProbeStatus::crashed;
        result.reason = fmt::format("terminated by {}{}", signal_text(outcome.signal), where);
        break;
    case End::killed:
        result.status = outcome.why.empty() ? ProbeStatus::timed_out : ProbeStatus::failed;
        result.reason = outcome.why.empty() ? fmt::format("no response within {}{}; killed", limit, where)
                                            : fmt::format("killed: {}{}", outcome.why, where);
        break;
    case End::unkillable:
        result.status = ProbeStatus::timed_out;
        result.reason =
            fmt::format("no response within {}{}; it cannot be killed (uninterruptible)", limit, where);
        break;
    case End::not_started:
        result.status = ProbeStatus::failed;
        result.reason = outcome.why;
        break;
    }
}

std::string vram_in_use(const Facts& facts, const std::string& address) {
    for (const Gpu& gpu : facts.gpus)
        if (gpu.address == address && gpu.vram_used.known() && gpu.vram_used.source.starts_with("/sys/")) {
            try {
                return std::string(trim(split(read_file(gpu.vram_used.source), '\n').front()));
            } catch (const Error&) {
                return {}; // a GPU that fell off the bus takes its files with it
            }
        }
    return {};
}

} // namespace rekindle::doctor
