#include "rows.h"

namespace rekindle::cli::rows {

namespace {

const std::vector<std::string_view> doctor_alone{"doctor"};
constexpr std::string_view host = "Host";
constexpr std::string_view log = "A log or a recording from elsewhere";
constexpr std::string_view lookup = "Looking up";
constexpr std::string_view repair = "Carrying out";
constexpr std::string_view output = "Output";

/// What --review, --explain, --matrix and --check-knowledge leave no use for, and more.
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
         .brief = "The Python that trains: interpreter or environment",
         .detail = "Its files are read, not run; with it the PyTorch probes run too (see --probe). Without "
                   "it the active "
                   "environment, conda environments and the usual folders are looked at.",
         .example = "--python ~/venv/bin/python3",
         .commands = {"doctor", "devices"},
         .not_with = not_with(no_host, {"replay"})},
        {.name = "probe",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"none", "safe", "all"},
         .group = host,
         .brief = "What to try out on the GPUs",
         .detail = "none only reads. safe opens HIP, a BLAS handle, a small kernel with a known answer, the "
                   "CUDA driver and "
                   "Vulkan, each in a child process with a deadline, and leaves a GPU alone whose kernel log "
                   "shows a hang "
                   "or a reset. all tries that too, and two GPUs together.",
         .example = "--probe all --python ~/venv/bin/python3",
         .commands = {"doctor", "devices"},
         .default_text = "safe",
         .not_with = not_with("nothing is tried out then", {"replay", "root", "log"})},
        {.name = "pid",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 1, .high = 4194304},
         .group = host,
         .brief = "Read the environment variables of this running process",
         .detail = "The variables of a job that runs or hangs, instead of those of this shell.",
         .example = "--pid 4711",
         .commands = doctor_alone,
         .not_with = not_with(no_host, {"replay"})},
        {.name = "root",
         .kind = ValueKind::path,
         .value_name = "FOLDER",
         .group = host,
         .brief = "Read a recorded or mounted host below this folder",
         .detail = "Everything is read below it, and nothing of this machine is mixed in. Nothing is probed.",
         .example = "--root /mnt/rescue",
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
         .detail = "Reads the log from its last line upwards. It is taken as a log of another machine: what "
                   "is known of "
                   "that machine comes from --facts. --facts here takes this machine's facts.",
         .example = "--log train.log --facts here",
         .commands = doctor_alone},
        {.name = "facts",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .words = {"here"},
         .group = log,
         .brief = "What is known of the machine; here for this one",
         .detail = "Lines \"key: value\" (gpu, gfx, os, kernel, torch, rocm, python, container, env, driver, "
                   "...), a file "
                   "with such keys below environment:, or what --json wrote.",
         .example = "--log train.log --facts machine.yaml",
         .commands = doctor_alone,
         .not_with = not_with("no machine is judged", {})},
        {.name = "replay",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = log,
         .brief = "Run the rules on facts that --json wrote",
         .detail = "The same findings and plan as on the recorded machine; nothing of this one is read.",
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
         .brief = "Judge what a document or script says",
         .detail = "Marks every variable, version pair, image tag, gfx name, command and known claim as "
                   "true, false, "
                   "harmful, without effect or unknown, with the evidence. - is standard input.",
         .example = "--review fix-rocm.md",
         .commands = doctor_alone},
        {.name = "explain",
         .value_name = "TERM",
         .group = lookup,
         .brief = "What is known of an error text, variable, gfx or claim",
         .detail = "Also of a GPU's name, a cause, a remedy or a wheel index.",
         .example = "--explain HSA_OVERRIDE_GFX_VERSION",
         .commands = doctor_alone},
        {.name = "matrix",
         .value_name = "[GFX]",
         .group = lookup,
         .brief = "Which torch from which index runs on which gfx",
         .detail = "torch, index, Python and whether the wheel has code for the gfx (or a card's name), "
                   "dated and sourced. "
                   "Without GFX: all wheels.",
         .example = "--matrix gfx1010",
         .commands = doctor_alone,
         .value_optional = true},
        {.name = "alternatives",
         .kind = ValueKind::flag,
         .group = lookup,
         .brief = "Other ways to train, with their arithmetic",
         .detail =
             "Processor, native wheels, Vulkan, cloud, another card: what applies to the GPUs of this host. "
             "--hours-per-month and --price give the break-even.",
         .example = "--alternatives --hours-per-month 40 --price 500",
         .commands = doctor_alone},
        {.name = "hours-per-month",
         .kind = ValueKind::number,
         .value_name = "HOURS",
         .range = {.low = 0, .high = 744, .low_excluded = true},
         .group = lookup,
         .brief = "Hours of training a month, for the break-even",
         .detail = "With it, rented hours are set against the price of a card.",
         .example = "--alternatives --hours-per-month 40",
         .commands = doctor_alone},
        {.name = "price",
         .kind = ValueKind::number,
         .value_name = "DOLLARS",
         .range = {.low = 0, .high = 1e6, .low_excluded = true},
         .group = lookup,
         .brief = "Price of the card that you think of, in US dollars",
         .detail = "Prices of cards drift and differ: this figure is yours.",
         .example = "--alternatives --hours-per-month 40 --price 500",
         .commands = doctor_alone},
        {.name = "knowledge",
         .kind = ValueKind::path,
         .value_name = "FOLDER",
         .group = lookup,
         .brief = "Use this folder in place of the built-in knowledge",
         .detail = "A folder of the shape of the project's knowledge/: an entry can be tried without "
                   "building anything.",
         .example = "--knowledge knowledge --log train.log",
         .commands = doctor_alone,
         .not_with = {{.option = "check-knowledge", .reason = "it checks the folder that it names"}}},
        {.name = "check-knowledge",
         .kind = ValueKind::path,
         .value_name = "FOLDER",
         .group = lookup,
         .brief = "Check a folder of knowledge",
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
         .brief = "Show one step of the plan; with --yes carry it out",
         .detail = "Carries out only steps that are reversible and need no root, in a new virtual "
                   "environment: facts and pip "
                   "freeze are saved first, the result is verified, an undo script is left. It never kills "
                   "processes, "
                   "edits system files or removes packages.",
         .example = "--fix use-native-wheel --yes",
         .commands = doctor_alone,
         .not_with = not_with("there is no plan to carry out", {"log", "alternatives"})},
        {.name = "yes",
         .aliases = {"-y"},
         .kind = ValueKind::flag,
         .group = repair,
         .brief = "Do what --fix shows",
         .detail = "Without it --fix only prints.",
         .example = "--fix use-native-wheel --yes",
         .commands = doctor_alone},
        {.name = "json",
         .kind = ValueKind::flag,
         .group = output,
         .brief = "Everything as one JSON object on standard output",
         .detail = "The format has a version and is described in docs/formats/doctor.md; --replay and "
                   "--facts read it.",
         .example = "--json",
         .commands = doctor_alone,
         .not_with = not_with(no_report, {"alternatives", "fix"})},
        {.name = "report",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = output,
         .brief = "Write the whole report too: Markdown, or JSON for .json",
         .detail = "User, host and path names are taken out, so that it can be posted; --redact=false leaves "
                   "them in.",
         .example = "--report doctor.md",
         .commands = doctor_alone,
         .not_with = not_with(no_report, {"alternatives", "fix"})},
        {.name = "redact",
         .kind = ValueKind::flag,
         .group = output,
         .brief = "Take user, host and path names out of the output",
         .detail = "Always on for --report FILE unless --redact=false is given.",
         .example = "--json --redact",
         .commands = doctor_alone,
         .not_with = not_with(no_report, {"alternatives", "fix"})},
    };
}

} // namespace

std::vector<OptionSpec> doctor() {
    std::vector<OptionSpec> all;
    for (auto* make : {host_rows, log_rows, lookup_rows, output_rows})
        for (OptionSpec& row : make())
            all.push_back(std::move(row));
    return all;
}

} // namespace rekindle::cli::rows
