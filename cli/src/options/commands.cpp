#include <rekindle/cli/option_table.h>

namespace rekindle::cli {

namespace {

CommandSpec train() {
    return {
        .name = "train",
        .brief = "Train a network on market bars",
        .detail = "Reads bars, forms sessions, computes volume profiles and features, splits them by time, "
                  "trains the "
                  "network and writes a run folder with the models (.pt and .safetensors), metadata, "
                  "metrics, charts and "
                  "a report.\n\n"
                  "Every score is printed beside its baseline with a confidence interval; a model without an "
                  "edge is "
                  "called that. Ctrl-C finishes the step, saves a checkpoint and ends with status 130; a "
                  "second Ctrl-C "
                  "ends at once.",
        .examples = {
            {"--data bars.csv --output TRAINING/ --epochs 3 --batch-size 8", "a short run"},
            {"--data bars.csv --session-length week --hidden-layers 32,16", "weekly sessions, small network"},
            {"--data bars.csv --print-config", "what would be done, as JSON"},
            {"--resume-from-checkpoint TRAINING/train_20261121_101500", "go on after an interruption"}}};
}

CommandSpec predict() {
    return {
        .name = "predict",
        .brief = "The next session's value from a trained network",
        .detail =
            "Prints the prediction for the session after the last complete one (of a model of bars: for what "
            "follows the last bar of the data), the stamp at which it starts, its interval, the baseline "
            "beside it and the model's verdict. A model whose features, tick, session rules or instrument "
            "differ from the data is refused, and the difference is named.",
        .examples = {
            {"--model TRAINING/train_20261121_101500 --data bars.csv", "predict from a run folder"}}};
}

CommandSpec inspect() {
    return {.name = "inspect",
            .positional = "FILE...",
            .positional_required = true,
            .brief = "What a file of bars holds",
            .detail =
                "Prints the columns recognized, rows, span, gaps, tick, contracts and rolls, sessions, and "
                "which time zone the peak of volume and the daily halt suggest.",
            .examples = {{"bars.csv", "look at a file before training on it"}}};
}

CommandSpec volume_profile() {
    return {.name = "volume-profile",
            .aliases = {"profile"},
            .brief = "Point of control and value area of each session",
            .detail =
                "Writes one line per session and draws the last profiles in the terminal. Prices are in "
                "points, volumes in units of the data. Without --output only the drawing is shown.",
            .examples = {{"--data bars.csv --session rth --output profile.csv", "regular hours, to CSV"},
                         {"--data bars.csv --draw 2", "the last two sessions on the screen"}}};
}

CommandSpec features() {
    return {.name = "features",
            .brief = "The matrix of features, as CSV or .npy",
            .detail =
                "Computes the features that rekindle train would use, unscaled, one row per session (per "
                "minute with --features minute).",
            .examples = {{"--data bars.csv --output features.csv", "the 54 columns"},
                         {"--data bars.csv --features session,gap --output features.npy", "for NumPy"}}};
}

CommandSpec simulate() {
    return {
        .name = "simulate",
        .brief = "Make synthetic one-minute bars",
        .detail =
            "Writes bars in the shape of ES futures: ticks of 0.25 points, UTC stamps at the end of the bar, "
            "volume high at open and close and low overnight, the daily halt, holidays, quarterly contracts "
            "and a VIX column. The first line of the file says that it is synthetic. The price has no "
            "drift: there is no edge to be learned, only the soundness and speed of the program.",
        .examples = {{"--bars 100000 --seed 1 --output simulated.csv", "about 70 trading days"}}};
}

CommandSpec devices() {
    return {.name = "devices",
            .brief = "What each GPU and the processor can train with today",
            .detail =
                "Shows each GPU with its memory and whether ROCm, CUDA or Vulkan can train on it here "
                "and now, and the "
                "processor with its cores and the instruction set that the engine chose; then each "
                "Vulkan device with the address that --device takes, its type, memory, driver, subgroup "
                "sizes, shared memory, float16 and matrix units, and whether it passed the self-test of "
                "known answers. rekindle doctor says why something does not work.",
            .examples = {{"", "what this machine trains on"}}};
}

CommandSpec verify() {
    return {.name = "verify",
            .brief = "Whether a GPU computes what it should",
            .detail = "Runs the known answers of the self-test, matrix products, and training steps of three "
                      "networks on the device and compares them with the processor; then measures a few "
                      "speeds. Without --device: every GPU that can be used; CPU drivers such as lavapipe "
                      "only when there is nothing else, or when named.\n\n"
                      "Status 0: every row passed; 1: one failed; 2: there is no such device.",
            .examples = {{"", "every GPU of this machine"},
                         {"--device gpu:1 --report card.json", "one GPU, and a report to attach"}}};
}

CommandSpec doctor() {
    return {.name = "doctor",
            .brief = "Why GPU training fails on this machine, and what to do",
            .detail = "Reads what the kernel, the drivers, the Python environments and the libraries' own "
                      "bytes say, tries the "
                      "GPUs in child processes, and prints a verdict, what each device can train with today, "
                      "the findings with "
                      "their evidence and a plan whose first steps are cheap and reversible. It needs no "
                      "Python, no PyTorch, "
                      "no ROCm and no Vulkan, changes nothing and sends nothing anywhere.\n\n"
                      "--log diagnoses a posted log, --review judges a document or script, --explain and "
                      "--matrix look things "
                      "up. Status 0: nothing is wrong; 1: there are findings; 2: wrong use.",
            .examples = {{"", "this machine"},
                         {"--python ~/venv/bin/python3 -v", "with the PyTorch that trains, and all evidence"},
                         {"--log train.log --facts here", "why did that job die?"},
                         {"--review fix-rocm.md", "is this advice true?"},
                         {"--matrix gfx1010", "which wheels have code for an RX 5600 XT"},
                         {"--report doctor.md", "a report to post, without names"}}};
}

CommandSpec completions() {
    return {.name = "completions",
            .positional = "SHELL",
            .positional_required = true,
            .positional_words = {"bash", "zsh", "fish"},
            .brief = "Completion script for bash, zsh or fish",
            .detail =
                "Prints a script. bash: source <(rekindle completions bash). zsh: rekindle completions zsh > "
                "\"${fpath[1]}/_rekindle\". fish: rekindle completions fish > "
                "~/.config/fish/completions/rekindle.fish.",
            .examples = {{"bash", "print the script"}}};
}

CommandSpec generate_docs() {
    return {.name = "generate-docs",
            .positional = "FOLDER",
            .positional_required = true,
            .brief = "Write the pages of docs/, manual pages and completions",
            .detail = "Everything is made from the table of options that also parses the command line. For "
                      "maintainers: after a change of the table, rekindle generate-docs docs --only pages.",
            .examples = {{"docs --only pages", "renew docs/flags, docs/commands and docs/hardware.md"}},
            .hidden = true};
}

CommandSpec help() {
    return {.name = "help",
            .positional = "COMMAND",
            .brief = "Help of a command",
            .detail = "The same as rekindle COMMAND --help.",
            .examples = {{"train", "all options of train"}}};
}

} // namespace

const std::vector<CommandSpec>& command_table() {
    static const std::vector<CommandSpec> table{train(),    predict(),     inspect(),       volume_profile(),
                                                features(), simulate(),    devices(),       verify(),
                                                doctor(),   completions(), generate_docs(), help()};
    return table;
}

} // namespace rekindle::cli
