#include <rekindle/cli/option_table.h>

namespace rekindle::cli {

namespace {

CommandSpec train() {
    return {
        .name = "train",
        .brief = "Train a network on market bars",
        .detail =
            "Reads bars, forms sessions, computes volume profiles and features, splits them by time, trains "
            "the network and writes a run folder with the models (.pt and .safetensors), metadata, metrics, "
            "charts and a report.\n\nEvery score is printed with its baseline and a confidence interval; "
            "when a model has no edge, the verdict says so. Ctrl-C finishes the current step, saves a "
            "checkpoint and exits with status 130; a second Ctrl-C exits immediately.",
        .examples = {
            {"--data bars.csv --output TRAINING/ --epochs 3 --batch-size 8", "a short run"},
            {"--data bars.csv --session-length week --hidden-layers 32,16", "weekly sessions, small network"},
            {"--data bars.csv --print-config", "the effective configuration, as JSON"},
            {"--resume-from-checkpoint TRAINING/train_20261121_101500", "resume after an interruption"}}};
}

CommandSpec walk_forward() {
    return {
        .name = "walk-forward",
        .brief = "Train repeatedly on the past and score the rows that follow",
        .detail =
            "Divides the rows into consecutive windows. For each window, trains networks on earlier rows "
            "only, with a scaler of their own, and predicts the window. Training rows whose target reaches "
            "into the window are purged. All networks (windows times seeds, --population) train together. "
            "The latest fifth of the rows stays untouched until --final.\n\nWrites every out-of-sample "
            "prediction to predictions.csv and predictions.parquet, and writes folds.csv, results.json and "
            "a report whose first line is the verdict. Ctrl-C keeps the finished networks; "
            "--resume-from-checkpoint continues.",
        .examples = {{"--data bars.csv --epochs 5", "10 expanding windows"},
                     {"--data bars.csv --features minute --window rolling --train-rows 100000 --folds 40",
                      "rolling windows of bars"},
                     {"--data bars.csv --blocks 6 --test-blocks 2", "combinatorial purged cross-validation"},
                     {"--resume-from-checkpoint TRAINING/walk_forward_20261121_101500 --final",
                      "open the final part, once"}}};
}

CommandSpec search() {
    return {
        .name = "search",
        .brief = "Find the settings that predict best and judge the result",
        .detail =
            "Trains networks with many settings on the windows of walk-forward, scores each setting on "
            "rows after its training rows, and judges the best one given how many were tried: by the "
            "deflated Sharpe ratio, the probability of overfitting, and p-values adjusted for all "
            "settings. Stores finished settings in search.sqlite, so that --resume-from-checkpoint can "
            "continue an interrupted search, even after SIGKILL. The last rows stay untouched; rekindle "
            "walk-forward --config best.json --final opens them for the chosen setting.",
        .examples = {
            {"--data bars.csv --vary learning-rate=1e-4..1e-2@log --vary dropout-rate=0|0.2|0.4 --trials 200",
             "200 settings in two dimensions"},
            {"--data bars.csv --vary learning-rate=1e-4..1e-2/10@log --vary weight-decay=0|0.01 --method "
             "grid",
             "every combination"},
            {"--data bars.csv --vary \"features=session|session,gap\" --vary \"hidden-layers=32,16|128,64\" "
             "--method halving --epochs 27",
             "features and widths, with the most epochs for the best settings"}}};
}

CommandSpec predict() {
    return {.name = "predict",
            .brief = "Predict the next session with a trained network",
            .detail =
                "Prints the prediction for the session after the last complete one (for a model of bars: for "
                "what follows the last bar of the data), the timestamp at which it starts, its interval, the "
                "baseline and the model's verdict. A model whose features, tick, session rules or instrument "
                "do not match the data is refused, and the difference is named.",
            .examples = {
                {"--model TRAINING/train_20261121_101500 --data bars.csv", "predict from a run folder"}}};
}

CommandSpec import_model() {
    return {.name = "import-model",
            .positional = "FILE",
            .positional_required = true,
            .brief = "Make a run folder from a network of the original system",
            .detail =
                "Reads the best_model.pt, model.pt or .safetensors of a network that the original's train.py "
                "trained. The file holds no scaler. This command fits one to the features of the bars that "
                "the network was trained on (--data), which it computes by the original's rules. Scores the "
                "network on the rows after --train-split and writes a run folder that predict --model "
                "FOLDER and train --model FOLDER accept. A pickle is parsed as data; nothing in it is ever "
                "executed.",
            .examples = {{"best_model.pt --data merged_es_vix_test.csv", "the original's file and its bars"},
                         {"best_model.pt --data bars.csv --scaler standard",
                          "a network trained before 2025-10-31, when the original scaled by mean and std"}}};
}

CommandSpec inspect() {
    return {.name = "inspect",
            .positional = "FILE...",
            .positional_required = true,
            .brief = "Show what a file of bars contains",
            .detail = "Prints the recognized columns, rows, time span, gaps, tick, contracts and rolls, "
                      "sessions, and which time zone the volume peak and the daily halt suggest.",
            .examples = {{"bars.csv", "look at a file before training on it"}}};
}

CommandSpec volume_profile() {
    return {.name = "volume-profile",
            .aliases = {"profile"},
            .brief = "Compute the point of control and value area of each session",
            .detail =
                "Writes one line per session and draws the last profiles in the terminal. Prices are in "
                "points, volumes in the units of the data. Without --output, only the drawing is shown.",
            .examples = {{"--data bars.csv --session rth --output profile.csv", "regular hours, to CSV"},
                         {"--data bars.csv --draw 2", "the last two sessions on the screen"}}};
}

CommandSpec features() {
    return {.name = "features",
            .brief = "Write the feature matrix as CSV or .npy",
            .detail = "Computes the features that rekindle train would use, unscaled, one row per session "
                      "(per minute with --features minute).",
            .examples = {{"--data bars.csv --output features.csv", "the 54 columns"},
                         {"--data bars.csv --features session,gap --output features.npy", "for NumPy"}}};
}

CommandSpec backtest() {
    return {
        .name = "backtest",
        .brief = "Trade predictions or positions on past bars and judge the result",
        .detail =
            "Fills orders only with bars that begin after the decision is known. Charges commission and "
            "slippage that are typical of the instrument, unless you give your own. The first line is the "
            "verdict: whether the result is more than luck and the market explain, given how many settings "
            "were tried. Writes trades.csv, equity.csv, backtest.json and report.html.\n\nA rule turns "
            "predictions into positions (--threshold, --direction, --hold); a file of positions may also "
            "set limit and stop orders. docs/backtest.md describes how orders are filled.",
        .examples = {{"--data bars.csv --predictions predictions.csv --trials 20",
                      "predictions of the best of 20 settings"},
                     {"--data bars.csv --positions positions.csv --sizing fraction --size 0.5",
                      "positions worth half the equity"}}};
}

CommandSpec report() {
    return {.name = "report",
            .positional = "RUN...",
            .positional_required = true,
            .brief = "Combine training, walk-forward, search and backtest in one report",
            .detail =
                "Takes the folders of runs on the same data, in any order, or folders that contain them, and "
                "writes one page. Its first line is the overall verdict. The strictest evidence decides: the "
                "final part of walk-forward if it was opened; otherwise backtest, search and walk-forward, "
                "which must all find an edge. A training run alone never shows an edge. If the stages "
                "disagree, the verdict says so. docs/combined-report.md describes the rules.",
            .examples = {{"TRAINING backtest", "every run in TRAINING, and a backtest"},
                         {"TRAINING/walk_forward_20261121_101500 backtest --output final.html",
                          "two runs, in a page with another name"}}};
}

CommandSpec simulate() {
    return {
        .name = "simulate",
        .brief = "Generate synthetic one-minute bars",
        .detail =
            "Writes bars that look like ES futures: ticks of 0.25 points, UTC timestamps at the end of the "
            "bar, volume high at open and close and low overnight, the daily halt, holidays, quarterly "
            "contracts and a VIX column. The first line of the file says that it is synthetic. The price has "
            "no drift, so there is no edge to learn; the data is for testing correctness and speed.",
        .examples = {{"--bars 100000 --seed 1 --output simulated.csv", "about 70 trading days"}}};
}

CommandSpec devices() {
    return {.name = "devices",
            .brief = "Show what each GPU and the CPU can train with today",
            .detail =
                "Shows each GPU with its memory and whether ROCm, CUDA or Vulkan can train on it here and "
                "now, and the CPU with its cores and the instruction set that the engine chose; then each "
                "Vulkan device with the address that --device takes, its type, memory, driver, subgroup "
                "sizes, shared memory, float16 and matrix units, and whether it passed the known-answer "
                "self-test. rekindle doctor explains why something does not work.",
            .examples = {{"", "what this machine can train on"}}};
}

CommandSpec verify() {
    return {
        .name = "verify",
        .brief = "Check that a GPU computes correctly",
        .detail =
            "Runs the known-answer self-test, matrix products and attention in float32, float16 and "
            "bfloat16, and training steps of three networks on the device and compares them with the "
            "CPU; then measures a few speeds. Without --device: every usable GPU; CPU drivers such as "
            "lavapipe only when there is nothing else, or when named.\n\nExit status: 0 if every row passed, "
            "1 if a row failed, 2 if the device does not exist.",
        .examples = {{"", "every GPU of this machine"},
                     {"--device gpu:1 --report card.json", "one GPU, and a report to attach"}}};
}

CommandSpec doctor() {
    return {
        .name = "doctor",
        .positional = "[-- COMMAND...]",
        .brief = "Find out why GPU training fails on this machine",
        .detail =
            "Reads what the kernel, the drivers, the Python environments and the bytes of the libraries say, "
            "tests the GPUs in child processes, and prints a verdict, what each device can train with today, "
            "the findings with their evidence and a plan whose first steps are cheap and reversible. It "
            "needs no Python, no PyTorch, no ROCm and no Vulkan, changes nothing and sends nothing "
            "anywhere.\n\n--run runs a training command and explains its failure, --log diagnoses a posted "
            "log, "
            "--review checks a document or script, --explain and --matrix look things up. Status 0: nothing "
            "is "
            "wrong; 1: there are findings; 2: usage error. With --run: the command's status.",
        .examples = {{"", "this machine"},
                     {"--python ~/venv/bin/python3 -v", "with the PyTorch you train with, and all evidence"},
                     {"--run -- python train.py", "run it, and explain why it fails"},
                     {"--log train.log --facts here", "why did that job die?"},
                     {"--review fix-rocm.md", "is this advice correct?"},
                     {"--matrix gfx1010", "which wheels have code for an RX 5600 XT"},
                     {"--report doctor.md", "a report to post, without names"}}};
}

CommandSpec completions() {
    return {.name = "completions",
            .positional = "SHELL",
            .positional_required = true,
            .positional_words = {"bash", "zsh", "fish"},
            .brief = "Print a completion script for bash, zsh or fish",
            .detail = "Prints a script. bash: source <(rekindle completions bash). zsh: rekindle completions "
                      "zsh > \"${fpath[1]}/_rekindle\". fish: rekindle completions fish > "
                      "~/.config/fish/completions/rekindle.fish.",
            .examples = {{"bash", "print the script"}}};
}

CommandSpec generate_docs() {
    return {.name = "generate-docs",
            .positional = "FOLDER",
            .positional_required = true,
            .brief = "Write the pages of docs/, man pages and completions",
            .detail =
                "Everything is generated from the option table that also parses the command line. For "
                "maintainers: after changing the table, run rekindle generate-docs docs --only committed.",
            .examples = {{"reference", "write everything to the folder reference"},
                         {"docs --only committed", "regenerate the pages that the repository keeps"}},
            .hidden = true};
}

CommandSpec help() {
    return {.name = "help",
            .positional = "COMMAND",
            .brief = "Show the help of a command",
            .detail = "The same as rekindle COMMAND --help.",
            .examples = {{"train", "all options of train"}}};
}

} // namespace

const std::vector<CommandSpec>& command_table() {
    static const std::vector<CommandSpec> table{
        train(),          walk_forward(), search(),      predict(),       import_model(), inspect(),
        volume_profile(), features(),     backtest(),    report(),        simulate(),     devices(),
        verify(),         doctor(),       completions(), generate_docs(), help()};
    return table;
}

} // namespace rekindle::cli
