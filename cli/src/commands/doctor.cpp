#include "../doctor/report_output.h"
#include "../doctor/requests.h"
#include "../doctor/run.h"
#include "../doctor/screen.h"
#include "../doctor/watch.h"
#include "commands.h"

#include <rekindle/base/text.h>
#include <rekindle/cli/text_layout.h>
#include <rekindle/doctor/devices.h>
#include <rekindle/doctor/fix.h>
#include <rekindle/doctor/lookup_json.h>
#include <rekindle/doctor/report.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <iterator>

namespace rekindle::cli {

namespace {

using namespace doctor;

/// The knowledge of --knowledge DIR, or what is built in.
class ChosenKnowledge {
  public:
    explicit ChosenKnowledge(const CommandLine& line)
        : own_(line.has("knowledge") ? std::optional(load_knowledge(line.text("knowledge"))) : std::nullopt) {
    }
    const Knowledge& get() const { return own_ ? *own_ : embedded_knowledge(); }

  private:
    std::optional<Knowledge> own_;
};

void check_modes(const CommandLine& line) {
    std::vector<std::string> modes;
    for (const char* key :
         {"run", "log", "replay", "root", "review", "explain", "matrix", "check_knowledge", "alternatives"})
        if (line.has(key))
            modes.push_back(std::string("--") + key);
    for (std::string& mode : modes)
        std::replace(mode.begin() + 2, mode.end(), '_', '-');
    if (line.flag("watch") && !line.has("root") && !modes.empty())
        modes.emplace_back("--watch");
    // With --replay, the facts of the recorded host apply to the log or lookup, not those of this host.
    std::vector<std::string> others = modes;
    std::erase(others, "--replay");
    const bool takes_facts = others.size() == 1 && others != std::vector<std::string>{"--run"} &&
                             others != std::vector<std::string>{"--root"} &&
                             others != std::vector<std::string>{"--check-knowledge"} &&
                             others != std::vector<std::string>{"--watch"};
    if (modes.size() > 1 && !takes_facts)
        throw usage_error(fmt::format("{} and {} cannot be combined", modes[0], modes[1]))
            .expected("one of them");
    if (line.has("facts") && (line.has("replay") || line.has("root")))
        throw usage_error("--facts cannot be combined with --replay or --root")
            .expected("one source of facts");
    const bool here = line.text("facts") == "here";
    for (const char* key : {"python", "probe", "pid"})
        if (line.has(key) && !here && (line.has("facts") || line.has("log")))
            throw usage_error(
                fmt::format("--{} has no effect here: {}, and this machine is not examined", key,
                            line.has("facts") ? "--facts names another machine's facts"
                                              : "--log is about another machine without --facts"))
                .expected("--facts here");
    if (!line.flag("watch"))
        for (const char* key : {"csv", "interval", "count"})
            if (line.has(key))
                throw usage_error(fmt::format("--{} needs --watch", key)).expected("--watch");
    if (!line.flag("run")) {
        if (!line.positionals.empty() && !line.flag("watch"))
            throw usage_error(fmt::format("unexpected argument \"{}\"", line.positionals.front()))
                .hint("--run -- COMMAND runs a command and explains its failure; --watch -- COMMAND shows "
                      "the GPUs while it runs");
        for (const char* key : {"finish", "silence"})
            if (line.has(key))
                throw usage_error(fmt::format("--{} needs --run", key)).expected("--run -- COMMAND");
    }
    if (line.flag("yes") && !line.has("fix"))
        throw usage_error("--yes without --fix").expected("--fix ID --yes");
    for (const char* key :
         {"hours_per_month", "price", "resale", "watts", "electricity", "cpu_step", "card_step"})
        if (line.has(key) && !line.flag("alternatives")) {
            std::string option = key;
            std::ranges::replace(option, '_', '-');
            throw usage_error(fmt::format("--{} needs --alternatives", option)).expected("--alternatives");
        }
}

std::string read_text(const std::string& path) {
    if (path != "-")
        return read_file(path);
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

Recording read_recording(const std::string& path) {
    const std::string text = read_text(path);
    const nlohmann::ordered_json json = nlohmann::ordered_json::parse(text, nullptr, false);
    if (json.is_discarded())
        throw usage_error("this is not JSON").at(path).expected("what rekindle doctor --json wrote");
    return recording_from_json(json, path);
}

/// Facts and probes from the source that the command line names.
Recording gather(const CommandLine& line, const Knowledge& knowledge) {
    if (line.has("replay"))
        return read_recording(line.text("replay"));
    if (line.has("facts") && line.text("facts") != "here")
        return {.facts = read_posted_facts(line.text("facts"), knowledge), .probes = {}};
    if (line.has("log") && !line.has("facts"))
        return {};
    Recording recording{.facts = read_host(line), .probes = {}};
    if (!line.has("root") && !line.has("log"))
        recording.probes = run_probes(recording.facts, probe_options(line, recording.facts));
    return recording;
}

LogText read_chosen_log(const std::string& path) {
    return path == "-" ? log_from_text(read_text("-"), "standard input") : read_log(path);
}

bool has_findings(const Report& report) {
    const auto counts = [](const Finding& one) { return one.severity != Severity::note; };
    return std::any_of(report.findings.begin(), report.findings.end(), counts) ||
           (!report.log.empty() && !report.ask.empty());
}

ExitStatus examine(Context& context, const Knowledge& knowledge) {
    const CommandLine& line = context.line;
    Recording recording = gather(line, knowledge);
    std::optional<LogText> log;
    if (line.has("log"))
        log = read_chosen_log(line.text("log"));
    const Report report = make_report(std::move(recording.facts), std::move(recording.probes),
                                      log ? &*log : nullptr, knowledge);
    print_report(context, report, knowledge);
    write_report_file(context, report, knowledge);
    return has_findings(report) ? ExitStatus::failed : ExitStatus::success;
}

const Step& step_named(const Plan& plan, const std::string& id) {
    std::vector<std::string_view> names;
    for (const Step& step : plan.steps) {
        names.push_back(step.id);
        if (step.id == id)
            return step;
    }
    Error error = usage_error(fmt::format("the plan for this host has no step \"{}\"", id));
    error.at("--fix").expected(names.empty() ? "nothing: the plan is empty"
                                             : fmt::format("one of {}", fmt::join(names, ", ")));
    throw error;
}

ExitStatus fix(Context& context, const Knowledge& knowledge) {
    const CommandLine& line = context.line;
    const bool here = !line.has("replay") && !line.has("root") && !line.has("log") &&
                      (!line.has("facts") || line.text("facts") == "here");
    Recording recording = gather(line, knowledge);
    const Report report =
        make_report(std::move(recording.facts), std::move(recording.probes), nullptr, knowledge);
    const Step& step = step_named(report.plan, line.text("fix"));
    context.output.write(render_step(step, context.output.traits().width));
    const std::string refusal = reason_to_refuse(step);
    if (!line.flag("yes")) {
        context.output.line(refusal.empty()
                                ? fmt::format("\nNothing was done. --fix {} --yes carries it out.", step.id)
                                : fmt::format("\nNothing was done, and --yes would not do it: {}.", refusal));
        return ExitStatus::success;
    }
    if (!here)
        throw usage_error("--yes cannot act on the facts of another machine")
            .expected("--fix ID --yes without --replay, --root or --facts");
    ProgressView view(context.output, context.errors, context.messages);
    const std::string home = context.environment("HOME");
    const std::string state = context.environment("XDG_STATE_HOME");
    const std::filesystem::path records =
        (state.starts_with("/") ? state : home + "/.local/state") + "/rekindle/fixes";
    const FixResult result = carry_out(step, report.facts, records, view);
    view.finish();
    if (result.verified)
        context.output.line(fmt::format("Done and verified. To undo it: {}", result.undo_script.string()));
    else
        context.errors.line(
            fmt::format("error: {}. To undo what was done: {}", result.failure, result.undo_script.string()));
    return result.verified ? ExitStatus::success : ExitStatus::failed;
}

/// The facts of --replay, or none.
Recording replayed(const CommandLine& line) {
    return line.has("replay") ? read_recording(line.text("replay")) : Recording{};
}

/// Diagnoses the term that the user looks up as if it were a log, with the facts of --replay.
Report report_of(std::string_view text, Recording recording, const Knowledge& knowledge) {
    const LogText log = log_from_text(text, "the lookup");
    return make_report(std::move(recording.facts), std::move(recording.probes), &log, knowledge);
}

void print_lookup(Context& context, const char* mode, const Report& report, const Knowledge& knowledge,
                  const char* key, nlohmann::ordered_json answer) {
    nlohmann::ordered_json json = lookup_json(mode, report, knowledge);
    json[key] = std::move(answer);
    context.output.line(
        json.dump(2, ' ', !context.output.traits().utf8, nlohmann::json::error_handler_t::replace));
}

ExitStatus review(Context& context, const Knowledge& knowledge) {
    const std::string document = read_text(context.line.text("review"));
    Recording recording = replayed(context.line);
    const std::vector<Mark> marks = review_document(document, knowledge, &recording.facts);
    if (context.line.flag("json"))
        print_lookup(context, "review", report_of(document, std::move(recording), knowledge), knowledge,
                     "marks", to_json(marks));
    else
        context.output.write(render_marks(
            marks, {.width = context.output.traits().width, .verbose = context.messages.verbose}));
    const bool found = std::any_of(marks.begin(), marks.end(), [](const Mark& mark) {
        return mark.verdict == Verdict::wrong || mark.verdict == Verdict::harmful;
    });
    return found ? ExitStatus::failed : ExitStatus::success;
}

/// What the recorded facts say about the causes of the term; may be empty.
std::string on_that_host(const Report& report, const Knowledge& knowledge) {
    std::string text;
    for (const Finding& finding : report.findings)
        text += fmt::format("\nOn the recorded host: {}", finding.statement);
    for (const RuledOut& one : report.ruled_out) {
        const Cause* cause = knowledge.cause(one.cause);
        text += fmt::format("\nRuled out on the recorded host: {} ({} is {}{})",
                            cause == nullptr ? one.cause : cause->title, one.fact, one.value,
                            one.source.empty() ? "" : ", from " + one.source);
    }
    return text.empty() ? text : text.substr(1);
}

ExitStatus explain_term(Context& context, const Knowledge& knowledge) {
    const std::string term = context.line.text("explain");
    const std::vector<std::string> paragraphs = explain(term, knowledge);
    if (paragraphs.empty())
        throw Error(fmt::format("nothing is known about \"{}\"", shortened(term, 80)))
            .hint("--explain takes an error text, a variable, a gfx target, a GPU's name, a cause, a remedy "
                  "or a claim. --log FILE reads a whole log.");
    if (context.line.flag("json")) {
        print_lookup(context, "explain", report_of(term, replayed(context.line), knowledge), knowledge,
                     "paragraphs", paragraphs);
        return ExitStatus::success;
    }
    std::vector<std::string> all = paragraphs;
    if (context.line.has("replay"))
        if (std::string there = on_that_host(report_of(term, replayed(context.line), knowledge), knowledge);
            !there.empty())
            all.push_back(std::move(there));
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i > 0)
            context.output.line("");
        for (const std::string_view line : split(all[i], '\n'))
            context.output.write(indented(line, context.output.traits().width, 0));
    }
    return ExitStatus::success;
}

/// The target of the first AMD or NVIDIA GPU in the recorded facts; "" if there is none.
std::string training_target(const Recording& recording, const Knowledge& knowledge) {
    for (const DeviceStatus& device : device_table(recording.facts, recording.probes, knowledge))
        if (device.target.starts_with("gfx") || device.target.starts_with("sm_"))
            return device.target;
    return "";
}

ExitStatus matrix(Context& context, const Knowledge& knowledge) {
    std::string gfx = context.line.text("matrix");
    Recording recording = replayed(context.line);
    if (gfx.empty())
        gfx = training_target(recording, knowledge);
    if (const GpuModel* model = gfx.empty() ? nullptr : knowledge.gpu_named(gfx); model != nullptr)
        gfx = model->target;
    if (!gfx.empty() && knowledge.gfx(gfx) == nullptr && !gfx.starts_with("sm_")) {
        std::vector<std::string_view> names;
        names.reserve(knowledge.gfx_targets.size());
        for (const GfxTarget& target : knowledge.gfx_targets)
            names.push_back(target.name);
        Error error = usage_error(fmt::format("\"{}\" is not a known gfx target or GPU", gfx));
        error.at("--matrix").expected("a name such as gfx1100, sm_86 or RX 5600 XT");
        if (const std::string_view near = nearest_word(gfx, names); !near.empty())
            error.hint(fmt::format("Did you mean {}?", near));
        throw error;
    }
    const std::vector<MatrixRow> rows = support_matrix(gfx, knowledge);
    if (context.line.flag("json"))
        print_lookup(context, "matrix", make_report(recording.facts, recording.probes, nullptr, knowledge),
                     knowledge, "rows", to_json(rows));
    else
        context.output.write(render_matrix(
            rows, gfx, {.width = context.output.traits().width, .verbose = context.messages.verbose}));
    return ExitStatus::success;
}

ExitStatus check(Context& context) {
    const std::vector<std::string> mistakes = check_knowledge(context.line.text("check_knowledge"));
    for (const std::string& mistake : mistakes)
        context.output.line(mistake);
    context.output.line(mistakes.empty() ? "No mistakes." : counted(mistakes.size(), "mistake") + ".");
    return mistakes.empty() ? ExitStatus::success : ExitStatus::failed;
}

CostFigures cost_figures(const CommandLine& line) {
    if (line.has("cpu_step") != line.has("card_step"))
        throw usage_error("--cpu-step and --card-step are compared with each other").expected("both");
    if (line.has("watts") != line.has("electricity"))
        throw usage_error("--watts and --electricity give the cost of an hour together").expected("both");
    CostFigures figures;
    figures.hours_per_month = line.number("hours_per_month", 0);
    figures.resale = line.number("resale", 0);
    figures.watts = line.number("watts", 0);
    figures.per_kilowatt_hour = line.number("electricity", 0);
    figures.cpu_step = line.number("cpu_step", 0);
    figures.card_step = line.number("card_step", 0);
    if (line.has("price"))
        read_card_price(line.text("price"), figures);
    return figures;
}

ExitStatus show_alternatives(Context& context, const Knowledge& knowledge) {
    const Recording recording = gather(context.line, knowledge);
    const std::vector<Option> options = alternatives(recording.facts, knowledge, cost_figures(context.line));
    if (context.line.flag("json"))
        print_lookup(context, "alternatives",
                     make_report(recording.facts, recording.probes, nullptr, knowledge), knowledge, "options",
                     to_json(options));
    else
        context.output.write(render_options(options, context.output.traits().width));
    return ExitStatus::success;
}

} // namespace

ExitStatus run_doctor(Context& context) {
    const CommandLine& line = context.line;
    check_modes(line);
    if (line.has("check_knowledge"))
        return check(context);
    const ChosenKnowledge knowledge(line);
    if (line.flag("watch"))
        return watch_gpus(context, knowledge.get());
    if (line.flag("run"))
        return run_and_diagnose(context, knowledge.get());
    if (line.has("review"))
        return review(context, knowledge.get());
    if (line.has("explain"))
        return explain_term(context, knowledge.get());
    if (line.has("matrix"))
        return matrix(context, knowledge.get());
    if (line.flag("alternatives"))
        return show_alternatives(context, knowledge.get());
    if (line.has("fix"))
        return fix(context, knowledge.get());
    return examine(context, knowledge.get());
}

} // namespace rekindle::cli
