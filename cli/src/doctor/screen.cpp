#include "screen.h"

#include <rekindle/base/text.h>
#include <rekindle/cli/text_layout.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rekindle::cli {

namespace {

using namespace doctor;

constexpr std::size_t steps_without_verbose = 3; ///< steps of the plan that are shown without -v

std::string_view word_of(Severity severity) {
    switch (severity) {
    case Severity::problem:
        return "problem";
    case Severity::warning:
        return "warning";
    case Severity::note:
        break;
    }
    return "note";
}

/// A heading on the left and the wrapped text next to it.
std::string labeled(std::string_view heading, std::string_view text, std::size_t width, std::size_t column) {
    const std::vector<std::string> lines = wrap(text, width > column + 20 ? width - column : 20);
    std::string result = std::string(heading);
    result.resize(std::max(column, display_width(heading) + 1), ' ');
    for (std::size_t i = 0; i < lines.size(); ++i)
        result += (i == 0 ? "" : std::string(column, ' ')) + lines[i] + "\n";
    return result;
}

std::string code_of(const Finding& finding, const Knowledge& knowledge) {
    const Cause* cause = knowledge.cause(finding.cause);
    return cause == nullptr ? finding.cause : fmt::format("{} {}", cause->code, finding.cause);
}

std::string evidence_lines(const Finding& finding, std::size_t width) {
    std::string text;
    for (const Evidence& one : finding.evidence) {
        std::string line = one.what;
        if (!one.value.empty())
            line += (line.empty() ? "" : ": ") + one.value;
        if (!one.source.empty())
            line += fmt::format("  ({})", one.source);
        text += labeled("     -", line, width, 7);
    }
    return text;
}

/// What -v adds to a finding or note.
std::string details_of(const Finding& finding, std::size_t width) {
    std::string text = evidence_lines(finding, width);
    if (!finding.distinguishing_checks.empty())
        text += indented("What would distinguish this from the others:", width, 5);
    for (const std::string& one : finding.distinguishing_checks)
        text += labeled("     -", one, width, 7);
    return text;
}

std::string finding_text(const Finding& finding, std::size_t number, const Knowledge& knowledge,
                         ScreenOptions options) {
    const std::string rank = finding.primary ? ", deal with this one first" : "";
    std::string text = labeled(fmt::format("  {}.", number),
                               fmt::format("{} ({}{}): {}", code_of(finding, knowledge),
                                           word_of(finding.severity), rank, finding.statement),
                               options.width, 5);
    const Cause* cause = knowledge.cause(finding.cause);
    if (cause != nullptr && cause->sentence != finding.statement)
        text += indented(cause->sentence, options.width, 5);
    if (options.verbose) {
        text += details_of(finding, options.width);
        if (cause != nullptr && !cause->evidence.empty())
            text += indented(
                fmt::format("Source: {} (checked {})", cause->evidence.front().reference, cause->checked),
                options.width, 5);
    } else if (!finding.evidence.empty()) {
        const Evidence& first = finding.evidence.front();
        text +=
            labeled("     -", fmt::format("{}{}{}", first.what, first.value.empty() ? "" : ": ", first.value),
                    options.width, 7);
    }
    return text;
}

/// The findings, then the notes.
std::string findings_text(const std::string& heading, const std::vector<Finding>& findings,
                          const Knowledge& knowledge, ScreenOptions options, bool with_notes = false) {
    std::string wrong;
    std::string notes;
    std::size_t number = 0;
    for (const Finding& finding : findings)
        if (finding.severity != Severity::note)
            wrong += finding_text(finding, ++number, knowledge, options);
    for (const Finding& finding : findings)
        if (finding.severity == Severity::note) {
            notes += labeled("  -", finding.statement, options.width, 4);
            if (options.verbose)
                notes += details_of(finding, options.width);
        }
    std::string text = wrong.empty() ? "" : fmt::format("\n{}\n{}", heading, wrong);
    if (!notes.empty() && (with_notes || options.verbose || !wrong.empty()))
        text += "\nWorth knowing\n" + notes;
    return text;
}

/// "2 min, needs root and a reboot, risk: low".
std::string cost_of(const Step& step) {
    std::string text = step.minutes > 0 ? fmt::format("about {:g} min", step.minutes) : "a moment";
    if (step.root)
        text += step.reboot ? ", needs root and a restart" : ", needs root";
    else if (step.reboot)
        text += ", needs a restart";
    if (!step.risk.empty())
        text += fmt::format(", risk {}", step.risk);
    return text;
}

std::string commands_text(const std::vector<std::string>& commands) {
    std::string text;
    for (const std::string& command : commands)
        for (const std::string_view line : split(command, '\n')) // never wrapped, so that it can be copied
            text += fmt::format("       {}\n", line);
    return text;
}

std::string plan_text(const Plan& plan, ScreenOptions options) {
    if (plan.steps.empty())
        return "";
    std::string text = "\nPlan, cheap and reversible steps first\n";
    const std::size_t shown =
        options.verbose ? plan.steps.size() : std::min(plan.steps.size(), steps_without_verbose);
    for (std::size_t i = 0; i < shown; ++i) {
        const Step& step = plan.steps[i];
        text += labeled(fmt::format("  {}.", i + 1),
                        fmt::format("{} [{}] ({})", step.title, step.id, cost_of(step)), options.width, 5);
        if (options.verbose && !step.changes.empty())
            text += indented("Changes: " + step.changes, options.width, 5);
        if (!step.where.empty())
            text += indented(fmt::format("Where: {}", step.where), options.width, 5);
        if (step.commands.empty() && !options.verbose) // then this text says what to do
            text += indented(step.changes, options.width, 5);
        text += commands_text(step.commands);
        if (!step.verify.empty())
            text += "     check:\n" + commands_text({step.verify});
        if (!step.expect.empty())
            text += indented("expected output: " + step.expect, options.width, 7);
        if (options.verbose && !step.undo.empty())
            text += "     undo:\n" + commands_text(step.undo);
    }
    if (shown < plan.steps.size())
        text += indented(
            counted(plan.steps.size() - shown, "more step: -v shows it.", "more steps: -v shows them."),
            options.width, 5);
    for (const std::string& remark : plan.remarks)
        text += labeled("  Note:", remark, options.width, 8);
    if (options.verbose && !plan.verification_stages.empty())
        text += "\nAfter each step, check in this order\n";
    if (options.verbose)
        for (std::size_t i = 0; i < plan.verification_stages.size(); ++i)
            text += labeled(fmt::format("  {}.", i + 1), plan.verification_stages[i], options.width, 5);
    if (!plan.stop.empty())
        text += labeled("  Stop:", plan.stop, options.width, 8);
    return text;
}

std::string probes_text(const std::vector<ProbeResult>& probes, std::size_t width) {
    constexpr std::array<std::string_view, 5> words{"passed", "failed", "crashed", "timed out", "skipped"};
    std::string text = probes.empty() ? "" : "\nProbes, each in a child process\n";
    for (const ProbeResult& probe : probes) {
        std::string result(words.at(static_cast<std::size_t>(probe.status)));
        for (const std::string* part : {&probe.reason, &probe.code})
            if (!part->empty())
                result += ": " + *part;
        if (probe.status != ProbeStatus::skipped)
            result += fmt::format(" ({})", format_duration(probe.seconds));
        text += labeled(fmt::format("  {} {}", probe.id, probe.device), result, width, 34);
    }
    return text;
}

std::string list_text(const std::string& heading, const std::vector<std::string>& items, std::size_t width) {
    std::string text = items.empty() ? "" : fmt::format("\n{}\n", heading);
    for (const std::string& item : items)
        text += labeled("  -", item, width, 4);
    return text;
}

/// Prints what was recognized in a log whose cause is unknown.
std::vector<std::string> recognized_texts(const Report& report) {
    std::vector<std::string> texts;
    if (report.findings.empty() && report.outcome == Outcome::unknown)
        for (const Recognized& one : report.recognized)
            texts.push_back(fmt::format("{}: {} ({})", one.title, one.means, one.source));
    return texts;
}

std::vector<std::string> ruled_out_texts(const Report& report, const Knowledge& knowledge, bool all) {
    constexpr std::size_t shown = 3;
    std::vector<std::string> texts;
    for (const RuledOut& one : report.ruled_out)
        if (const Cause* cause = knowledge.cause(one.cause);
            cause != nullptr && (all || texts.size() < shown))
            texts.push_back(fmt::format("{}: {} is {} ({})", cause->title, one.fact, one.value, one.source));
    return texts;
}

} // namespace

std::string render_devices(const std::vector<DeviceStatus>& devices, std::size_t width) {
    std::size_t column = 6;
    for (const DeviceStatus& device : devices)
        column = std::max(column, device.address.size() + 4);
    std::string text;
    for (const DeviceStatus& device : devices) {
        std::string name = device.name;
        for (const std::string* part : {&device.target, &device.memory})
            if (!part->empty())
                name += ", " + *part;
        text += labeled("  " + device.address, name, width, column);
        if (device.address == "cpu")
            text += labeled("", "CPU: yes (rekindle train; any PyTorch)", width, column);
        for (const auto& [way, status] : {std::pair{"ROCm", &device.rocm}, std::pair{"CUDA", &device.cuda},
                                          std::pair{"Vulkan", &device.vulkan}})
            if (!status->empty())
                text += labeled("", fmt::format("{}: {}", way, *status), width, column);
    }
    return text;
}

std::string render_step(const Step& step, std::size_t width) {
    std::string text = indented(fmt::format("{} [{}]", step.title, step.id), width, 0);
    text += labeled("  Why:", step.why, width, 11);
    text += labeled("  Changes:", step.changes, width, 11);
    text += labeled("  Cost:", cost_of(step), width, 11);
    if (!step.where.empty())
        text += labeled("  Where:", step.where, width, 11);
    if (!step.commands.empty())
        text += "  Do:\n" + commands_text(step.commands);
    if (!step.verify.empty())
        text += "  Check:\n" + commands_text({step.verify});
    if (!step.expect.empty())
        text += labeled("", "expected output: " + step.expect, width, 7);
    if (!step.undo.empty())
        text += "  Undo:\n" + commands_text(step.undo);
    return text;
}

std::string render_command(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + shell_word(word);
    return text;
}

std::string render_run(const RunResult& run) {
    return fmt::format("{} {} after {}.", render_command(run.command), ending_of(run),
                       format_duration(run.seconds));
}

std::string render_report(const Report& report, const Knowledge& knowledge, ScreenOptions options) {
    const std::size_t width = options.width;
    std::string text;
    for (const std::optional<RunResult>* run : {&report.run, &report.second_run})
        if (*run)
            text += render_run(**run) + "\n"; // not wrapped, so that it can be copied
    text += indented(report.verdict, width, 0);
    if (report.log.empty())
        text += "\nDevices\n" + render_devices(report.devices, width);
    text += findings_text("Findings", report.findings, knowledge, options);
    text += findings_text("The facts alone also show", report.host_findings, knowledge, options, true);
    text += list_text("Recognized", recognized_texts(report), width);
    text += list_text("Ruled out", ruled_out_texts(report, knowledge, options.verbose), width);
    text += list_text("Harmless, though often blamed", report.noticed, width);
    text += list_text("These facts would help (--facts FILE with lines \"key: value\")", report.ask, width);
    text += plan_text(report.plan, options);
    if (options.verbose)
        text += probes_text(report.probes, width);
    if (!options.verbose && text.find("\nFindings\n") != std::string::npos)
        text += "\n" + indented("-v shows the evidence, all steps and the probes; --report FILE writes "
                                "everything without names.",
                                width, 0);
    return text;
}

} // namespace rekindle::cli
