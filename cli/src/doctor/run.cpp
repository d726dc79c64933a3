#include "run.h"

#include "report_output.h"
#include "requests.h"
#include "screen.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/report.h>
#include <rekindle/doctor/watched_run.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::cli {

namespace {

using namespace doctor;

constexpr std::int64_t default_silence = 300; ///< seconds

WatchedRun run_in_foreground(Context& context, std::vector<std::string> command) {
    const RunRequest request{.command = std::move(command),
                             .silence =
                                 std::chrono::seconds(context.line.integer("silence", default_silence)),
                             .output_to_errors = context.line.flag("json")};
    context.output.flush();
    return run_watched(request, [&](const Silence& silence) {
        context.errors.line(
            fmt::format("rekindle doctor: no output for {}, in which the command used {} of CPU time. It "
                        "keeps running:",
                        format_duration(silence.seconds), format_duration(silence.cpu_seconds)));
        for (const std::string& process : silence.processes)
            context.errors.line("  " + process);
    });
}

Report diagnose(const Context& context, WatchedRun run, const Knowledge& knowledge) {
    const CommandLine& line = context.line;
    Facts facts = read_host(line, interpreter_of(run.result.command));
    ProbeOptions options = probe_options(line, facts);
    if (!line.has("python"))
        options.python.clear(); // those probes take minutes; the command itself has just shown what happens
    std::vector<ProbeResult> probes = run_probes(facts, options);
    const bool failed = !run.result.succeeded() && !run.result.interrupted();
    Report report = make_report(std::move(facts), std::move(probes), failed ? &run.log : nullptr, knowledge);
    report.run = std::move(run.result);
    return report;
}

/// Runs the command on Vulkan, or says why it cannot be.
std::optional<RunResult> finish_on_vulkan(Context& context, const RunResult& failed) {
    std::vector<std::string> command = command_on_vulkan(failed.command);
    if (command.empty()) {
        context.errors.line(
            fmt::format("rekindle doctor: --finish runs Python programs; {} is not one that it can "
                        "start through torch_rvk.run.",
                        failed.command.front()));
        return std::nullopt;
    }
    context.errors.line(
        fmt::format("\nrekindle doctor: running it on Vulkan: {}\n", render_command(command)));
    const WatchedRun run = run_in_foreground(context, std::move(command));
    const auto lacks_package = [](const LogText::Line& one) {
        return one.text.find("No module named 'torch_rvk'") != std::string::npos;
    };
    if (std::any_of(run.log.lines.begin(), run.log.lines.end(), lacks_package))
        context.errors.line(
            fmt::format("rekindle doctor: torch_rvk is not installed there. Install Rekindle's wheel with "
                        "{} -m pip install torch_rvk-….whl, then run this again.",
                        interpreter_of(failed.command)));
    return run.result;
}

} // namespace

ExitStatus run_and_diagnose(Context& context, const Knowledge& knowledge) {
    const CommandLine& line = context.line;
    if (line.positionals.empty())
        throw usage_error("--run needs a command").expected("rekindle doctor --run -- python train.py");
    WatchedRun run = run_in_foreground(context, line.positionals);
    const RunResult result = run.result;
    const bool json = line.flag("json");
    if (!json)
        context.output.line("");
    if ((result.succeeded() || result.interrupted()) && !json && !line.has("report")) {
        context.output.line(render_run(result));
        return static_cast<ExitStatus>(result.shell_status());
    }
    Report report = diagnose(context, std::move(run), knowledge);
    if (!json && (result.succeeded() || result.interrupted()))
        context.output.line(render_run(result));
    else if (!json)
        print_report(context, report, knowledge);
    if (line.flag("finish") && !result.succeeded() && !result.interrupted())
        report.second_run = finish_on_vulkan(context, result);
    if (json)
        print_report(context, report, knowledge);
    else if (report.second_run)
        context.output.line(fmt::format("\n{}\n{}", render_run(result), render_run(*report.second_run)));
    write_report_file(context, report, knowledge);
    return static_cast<ExitStatus>(report.second_run.value_or(result).shell_status());
}

} // namespace rekindle::cli
