#include "rows.h"

namespace rekindle::cli::rows {

namespace {

const std::vector<std::string_view> doctor_alone{"doctor"};
constexpr std::string_view host = "Host";
constexpr std::string_view training = "A training run on this machine";
constexpr std::string_view watching = "Readings of the GPUs";
constexpr std::string_view log = "Log or recording from another machine";
constexpr std::string_view lookup = "Lookups";
constexpr std::string_view repair = "Fixes";
constexpr std::string_view output = "Output";

/// Exclusions of --review, --explain, --matrix and --check-knowledge, which leave an option without effect,
/// and of `others`.
std::vector<Exclusion> not_with(std::string_view reason, const std::vector<std::string_view>& others) {
    std::vector<Exclusion> exclusions;
    for (const std::string_view lookup_option : {"review", "explain", "matrix", "check-knowledge"})
        exclusions.push_back({.option = lookup_option, .reason = reason});
    for (const std::string_view other : others)
        exclusions.push_back({.option = other, .reason = reason});
    return exclusions;
}

constexpr std::string_view no_host = "this machine is not examined";
constexpr std::string_view no_report = "it writes no report";

std::vector<OptionSpec> host_rows() {
    return {
        {.name = "python",
         .kind = ValueKind::path_list,
         .value_name = "PATH",
         .group = host,
         .brief = "Python used for training: interpreter or environment",
         .detail =
             "Its files are read, not run; with this option the PyTorch probes run too (see --probe). "
             "Without it, the active environment, conda environments and the usual folders are searched.",
         .example = "--python ~/venv/bin/python3",
         .commands = {"doctor", "devices"},
         .not_with = not_with(no_host, {"replay"})},
        {.name = "probe",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"none", "safe", "all"},
         .group = host,
         .brief = "Which tests to run on the GPUs",
         .detail = "none only reads. safe opens HIP, a BLAS handle, a small kernel with a known answer, the "
                   "CUDA driver and Vulkan, each in a child process with a deadline, and skips a GPU whose "
                   "kernel log shows a hang or a reset. all tests that one too, and two GPUs together.",
         .example = "--probe all --python ~/venv/bin/python3",
         .commands = {"doctor", "devices"},
         .default_text = "safe",
         .not_with = not_with("no probes run then", {"replay", "root", "log"})},
        {.name = "pid",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 1, .high = 4194304},
         .group = host,
         .brief = "Read the environment variables of this running process",
         .detail = "The variables of a running or hanging job, instead of those of this shell.",
         .example = "--pid 4711",
         .commands = doctor_alone,
         .not_with = not_with(no_host, {"replay"})},
        {.name = "root",
         .kind = ValueKind::path,
         .value_name = "FOLDER",
         .group = host,
         .brief = "Read a recorded or mounted host below this folder",
         .detail = "Everything is read below it, and nothing from this machine is mixed in. No probes run.",
         .example = "--root /mnt/rescue",
         .commands = doctor_alone},
    };
}

std::vector<OptionSpec> run_rows() {
    return {
        {.name = "run",
         .kind = ValueKind::flag,
         .group = training,
         .brief = "Run the command after --, and explain its failure",
         .detail =
             "The command runs unchanged, with this terminal, and its output is kept. If it fails, the cause "
             "is sought in that output and in the facts of this machine at that moment: environment, memory "
             "holders, kernel log. The exit status is the command's. With --json, its standard output goes "
             "to "
             "standard error.",
         .example = "--run -- python train.py --epochs 3",
         .commands = doctor_alone,
         .not_with = not_with("the command runs on this machine, now",
                              {"log", "facts", "replay", "root", "pid", "fix", "alternatives"})},
        {.name = "finish",
         .kind = ValueKind::flag,
         .group = training,
         .brief = "If it fails, run it again on Vulkan",
         .detail =
             "Through python -m torch_rvk.run, in the same environment; both outcomes and times are printed. "
             "The exit status is that of the second run.",
         .example = "--run --finish -- python train.py",
         .commands = doctor_alone},
        {.name = "silence",
         .kind = ValueKind::integer,
         .value_name = "SECONDS",
         .range = {.low = 0, .high = 604800},
         .group = training,
         .brief = "Say what the command does after this time without output",
         .detail = "Its processes, their threads and where they wait in the kernel, and their Python stacks "
                   "if py-spy "
                   "is installed. The command keeps running. 0: never.",
         .example = "--run --silence 60 -- torchrun --nproc-per-node 2 train.py",
         .commands = doctor_alone,
         .default_text = "300"},
    };
}

std::vector<OptionSpec> watch_rows() {
    return {
        {.name = "watch",
         .kind = ValueKind::flag,
         .group = watching,
         .brief = "Show load, memory, heat, power and clocks of the GPUs",
         .detail = "Runs until Ctrl-C, or while the command after -- runs, and then returns the command's "
                   "exit status. On a terminal, one row for each GPU is refreshed in place below the "
                   "command's output; otherwise each reading is a line. Also shows what limits the clocks, "
                   "which processes hold memory, and new errors in the kernel log. A value that the driver "
                   "does not report is left out or shown as -, and the reason is printed once. Ends with a "
                   "summary.",
         .example = "--watch --csv gpu.csv -- python train.py",
         .commands = doctor_alone,
         .not_with =
             not_with("the GPUs are read now", {"log", "facts", "replay", "pid", "fix", "alternatives",
                                                "probe", "report", "json", "redact"})},
        {.name = "csv",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = watching,
         .brief = "Also write the readings to a new file; - is standard output",
         .detail = "One row for each GPU and reading; docs/formats/doctor.md describes the columns. If the "
                   "output is not a terminal, only the file and the summary are written.",
         .example = "--watch --csv gpu.csv",
         .commands = doctor_alone},
        {.name = "interval",
         .kind = ValueKind::number,
         .value_name = "SECONDS",
         .range = {.low = 0.1, .high = 3600},
         .group = watching,
         .brief = "Time between two readings",
         .detail = "A reading takes about 0.1 ms of CPU time for each process on the host.",
         .example = "--watch --interval 0.5",
         .commands = doctor_alone,
         .default_text = "1"},
        {.name = "count",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 1, .high = 1000000000},
         .group = watching,
         .brief = "End after this many readings",
         .detail = "Without it, --watch ends with Ctrl-C or with the command. A command continues unwatched.",
         .example = "--watch --count 10",
         .commands = doctor_alone},
    };
}

std::vector<OptionSpec> log_rows() {
    return {
        {.name = "log",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = log,
         .brief = "Find the cause in a log; - is standard input",
         .detail = "Reads the log from its last line up. It is assumed to come from another machine: what is "
                   "known about that machine comes from --facts. --facts here uses this machine's facts.",
         .example = "--log train.log --facts here",
         .commands = doctor_alone},
        {.name = "facts",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .words = {"here"},
         .group = log,
         .brief = "What is known about the machine; here for this one",
         .detail = "Lines \"key: value\" (gpu, gfx, os, kernel, torch, rocm, python, container, env, driver, "
                   "...), a file with such keys below environment:, or the output of --json.",
         .example = "--log train.log --facts machine.yaml",
         .commands = doctor_alone,
         .not_with = not_with("no machine is diagnosed", {})},
        {.name = "replay",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = log,
         .brief = "Diagnose facts that --json wrote",
         .detail =
             "Gives the same findings and plan as on the recorded machine; nothing is read from this one.",
         .example = "--replay host.json",
         .commands = doctor_alone},
    };
}

std::vector<OptionSpec> lookup_rows() {
    return {
        {.name = "review",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = lookup,
         .brief = "Check what a document or script says",
         .detail =
             "Marks every variable, version pair, image tag, gfx name, command and known claim as "
             "true, false, harmful, without effect or unknown, grouped by statement with its lines, harmful "
             "ones first; -v adds the evidence. Dockerfiles and compose files are read as such. - is "
             "standard input.",
         .example = "--review fix-rocm.md",
         .commands = doctor_alone},
        {.name = "explain",
         .value_name = "TERM",
         .group = lookup,
         .brief = "Explain an error text, variable, gfx target or claim",
         .detail = "Also explains a GPU's name, a cause, a remedy or a wheel index.",
         .example = "--explain HSA_OVERRIDE_GFX_VERSION",
         .commands = doctor_alone},
        {.name = "matrix",
         .value_name = "[GFX]",
         .group = lookup,
         .brief = "Which torch from which index runs on which gfx",
         .detail = "torch, index, Python and whether the wheel has code for the gfx target (or GPU name), "
                   "dated and sourced. Without GFX: all wheels.",
         .example = "--matrix gfx1010",
         .commands = doctor_alone,
         .value_optional = true},
        {.name = "alternatives",
         .kind = ValueKind::flag,
         .group = lookup,
         .brief = "Other ways to train, with their costs",
         .detail = "CPU, native wheels, Vulkan, cloud, another card: what applies to the GPUs of this host. "
                   "--hours-per-month and --price give the break-even.",
         .example = "--alternatives --hours-per-month 40 --price 500",
         .commands = doctor_alone},
        {.name = "hours-per-month",
         .kind = ValueKind::number,
         .value_name = "HOURS",
         .range = {.low = 0, .high = 744, .low_excluded = true},
         .group = lookup,
         .brief = "Training hours per month, for the break-even",
         .detail = "Compares the cost of rented hours with the price of a card.",
         .example = "--alternatives --hours-per-month 40",
         .commands = doctor_alone},
        {.name = "price",
         .kind = ValueKind::text,
         .value_name = "[CARD=]DOLLARS[@DATE]",
         .group = lookup,
         .brief = "Price of the card you are considering, in US dollars",
         .detail =
             "Card prices change and differ, so you supply this figure, and with @ the date of the offer.",
         .example = "--alternatives --hours-per-month 40 --price rx7900xt=650@2026-11-01",
         .commands = doctor_alone},
        {.name = "resale",
         .kind = ValueKind::number,
         .value_name = "DOLLARS",
         .range = {.low = 0, .high = 1e6, .low_excluded = true},
         .group = lookup,
         .brief = "What the card will be sold for",
         .detail = "Taken off its price.",
         .example = "--alternatives --price 500 --resale 200",
         .commands = doctor_alone},
        {.name = "watts",
         .kind = ValueKind::number,
         .value_name = "W",
         .range = {.low = 0, .high = 1e5, .low_excluded = true},
         .group = lookup,
         .brief = "Power of the computer while it trains on the card",
         .detail = "rekindle doctor --watch measures the part of the GPU.",
         .example = "--alternatives --watts 450 --electricity 0.30",
         .commands = doctor_alone},
        {.name = "electricity",
         .kind = ValueKind::number,
         .value_name = "DOLLARS",
         .range = {.low = 0, .high = 100, .low_excluded = true},
         .group = lookup,
         .brief = "Price of a kilowatt-hour, in US dollars",
         .detail = "With --watts, the electricity of each hour is counted.",
         .example = "--alternatives --watts 450 --electricity 0.30",
         .commands = doctor_alone},
        {.name = "cpu-step",
         .kind = ValueKind::number,
         .value_name = "SECONDS",
         .range = {.low = 0, .high = 1e6, .low_excluded = true},
         .group = lookup,
         .brief = "Measured time of a training step on the CPU",
         .detail = "With --card-step, --hours-per-month are hours on the CPU.",
         .example = "--alternatives --hours-per-month 40 --cpu-step 0.5 --card-step 0.05",
         .commands = doctor_alone},
        {.name = "card-step",
         .kind = ValueKind::number,
         .value_name = "SECONDS",
         .range = {.low = 0, .high = 1e6, .low_excluded = true},
         .group = lookup,
         .brief = "Measured time of the same step on the card",
         .detail = "From your own run, for example on a rented card of the same kind.",
         .example = "--alternatives --hours-per-month 40 --cpu-step 0.5 --card-step 0.05",
         .commands = doctor_alone},
        {.name = "knowledge",
         .kind = ValueKind::path,
         .value_name = "FOLDER",
         .group = lookup,
         .brief = "Use this folder instead of the built-in knowledge",
         .detail = "A folder laid out like the project's knowledge/: an entry can be tried without building "
                   "anything.",
         .example = "--knowledge knowledge --log train.log",
         .commands = doctor_alone,
         .not_with = {{.option = "check-knowledge", .reason = "it names its own folder"}}},
        {.name = "check-knowledge",
         .kind = ValueKind::path,
         .value_name = "FOLDER",
         .group = lookup,
         .brief = "Check a knowledge folder",
         .detail = "Prints every mistake as file:line: what; status 1 when there is one.",
         .example = "--check-knowledge knowledge",
         .commands = doctor_alone},
    };
}

std::vector<OptionSpec> output_rows() {
    return {
        {.name = "fix",
         .value_name = "ID",
         .group = repair,
         .brief = "Show one step of the plan; with --yes, carry it out",
         .detail = "Carries out only steps that are reversible and need no root, in a new virtual "
                   "environment: facts and pip freeze are saved first, the result is verified, and an undo "
                   "script is written. It never kills processes, edits system files or removes packages.",
         .example = "--fix use-native-wheel --yes",
         .commands = doctor_alone,
         .not_with = not_with("there is no plan to carry out", {"log", "alternatives"})},
        {.name = "yes",
         .aliases = {"-y"},
         .kind = ValueKind::flag,
         .group = repair,
         .brief = "Carry out what --fix shows",
         .detail = "Without it, --fix only prints.",
         .example = "--fix use-native-wheel --yes",
         .commands = doctor_alone},
        {.name = "json",
         .kind = ValueKind::flag,
         .group = output,
         .brief = "Everything as one JSON object on standard output",
         .detail = "The format is versioned and described in docs/formats/doctor.md; --replay and --facts "
                   "read it. With a lookup, its answer.",
         .example = "--json",
         .commands = doctor_alone,
         .not_with = {{.option = "check-knowledge", .reason = no_report},
                      {.option = "fix", .reason = no_report}}},
        {.name = "report",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = output,
         .brief = "Also write the full report: Markdown, or JSON for .json",
         .detail =
             "User, host and path names are removed, so that it can be posted; --redact=false keeps them.",
         .example = "--report doctor.md",
         .commands = doctor_alone,
         .not_with = not_with(no_report, {"alternatives", "fix"})},
        {.name = "redact",
         .kind = ValueKind::flag,
         .group = output,
         .brief = "Remove user, host and path names from the output",
         .detail = "Always on for --report FILE unless --redact=false is given.",
         .example = "--json --redact",
         .commands = doctor_alone,
         .not_with = not_with(no_report, {"alternatives", "fix"})},
    };
}

} // namespace

std::vector<OptionSpec> doctor() {
    std::vector<OptionSpec> all;
    for (auto* make : {host_rows, run_rows, watch_rows, log_rows, lookup_rows, output_rows})
        for (OptionSpec& row : make())
            all.push_back(std::move(row));
    return all;
}

} // namespace rekindle::cli::rows
