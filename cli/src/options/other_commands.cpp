#include "rows.h"

#include <rekindle/market/clock.h>
#include <rekindle/market/simulate.h>

namespace rekindle::cli::rows {

std::vector<OptionSpec> other_commands() {
    const market::SimulateOptions simulated;
    return {
        {.name = "model",
         .aliases = {"-m"},
         .kind = ValueKind::path,
         .value_name = "RUN",
         .group = "Model",
         .brief = "Run folder of a trained network, or a model file",
         .detail = "The folder that rekindle train wrote, or one of its .pt, .safetensors or _metadata.json "
                   "files. A .pt or .safetensors file of the original system is read too: its output is "
                   "taken as the original's logit, and the features are computed by the original's rules. A "
                   "pickle is parsed as data; nothing in it is ever executed.",
         .example = "--model TRAINING/train_20261121_101500 --data bars.csv",
         .commands = {"predict"},
         .required = true},
        {.name = "scaler",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = "Model",
         .brief = "Scaler (JSON) for a model file that has none",
         .detail =
             "Files of the original system hold no scaler, so the center and scale of each feature must be "
             "given: a JSON file, or the folder, metadata or .pt file of a run whose scaler is to be used.",
         .example = "--model best_model.pt --scaler scaler.json --data bars.csv",
         .commands = {"predict"}},
        {.name = "other-instrument",
         .kind = ValueKind::flag,
         .group = "Model",
         .brief = "Predict even if the data is for another instrument",
         .detail =
             "A run records the names of its contracts and the closes of its last sessions. Data with other "
             "names, or whose closes move differently on the dates that both have, is refused with both "
             "names; with this option it is used, and the contradiction becomes a note. Features hold prices "
             "in points, so such a prediction is meaningful only for instruments at the same price level.",
         .example = "--model TRAINING/train_20261121_101500 --data mes.csv --other-instrument",
         .commands = {"predict"}},
        {.name = "all",
         .kind = ValueKind::flag,
         .group = "Output",
         .brief = "Write predictions of all out-of-sample rows to a file",
         .detail =
             "Writes one row for every session (bar) that the network was not trained on: the validation "
             "set, whose loss chose the epoch, and everything later. Each row has the time from which the "
             "prediction can be made, the prediction, its sigma, the outcome if it is known, and the "
             "baseline (docs/formats/predictions.md).",
         .example = "--model TRAINING/train_20261121_101500 --data bars.csv --all",
         .commands = {"predict"},
         .not_with = {{.option = "format", .reason = "--all writes a file"}}},
        {.name = "output",
         .aliases = {"-o"},
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = "Output",
         .brief = "File for --all: CSV, or Parquet if it ends in .parquet",
         .detail = "An existing file is replaced as a whole or not at all.",
         .example = "--model TRAINING/train_20261121_101500 --data bars.csv --all --output all.parquet",
         .commands = {"predict"},
         .default_text = "predictions.csv"},
        {.name = "format",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"text", "json"},
         .group = "Output",
         .brief = "Result as text or as one JSON object",
         .detail = "text is for people, json is for programs and has all figures in full precision.",
         .example = "--format json",
         .commands = {"predict", "inspect", "backtest", "report", "devices", "verify"},
         .default_text = "text",
         .not_with = {{.option = "log-format",
                       .word = "json",
                       .reason = "the result is then one of the JSON lines",
                       .own_word = "text"}}},
        {.name = "output",
         .aliases = {"-o"},
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = "Output",
         .brief = "CSV file, or JSON if it ends in .json; - is standard output",
         .detail =
             "The CSV has the columns date,vpoc,value_area_low,value_area_high,value_area_width,total_volume "
             "with prices in points. JSON also has nodes, untested points of control, trends and rules. An "
             "existing file is replaced as a whole or not at all.",
         .example = "--data bars.csv --output profile.csv",
         .commands = {"volume-profile"},
         .not_with = {{.option = "log-format",
                       .word = "json",
                       .reason = "both would write to standard output",
                       .own_word = "-"}}},
        {.name = "trends",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = "Output",
         .brief = "CSV of the trends of the point of control",
         .detail = "Runs of sessions in which the point of control moves in one direction, with the columns "
                   "start_date,end_date,direction,consecutive_count,vpoc_start,vpoc_end,vpoc_change.",
         .example = "--data bars.csv --trends trends.csv",
         .commands = {"volume-profile"}},
        {.name = "draw",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 0},
         .group = "Output",
         .brief = "Draw the profiles of the last N sessions",
         .detail = "Draws volume by price in the terminal: letters, not just color, mark the point of "
                   "control and the value area.",
         .example = "--draw 3",
         .commands = {"volume-profile"},
         .default_text = "1",
         .not_with = {{.option = "output",
                       .word = "-",
                       .reason = "the drawing would be mixed with the rows on standard output"},
                      {.option = "log-format", .word = "json", .reason = "a drawing is not a line of JSON"}}},
        {.name = "output",
         .aliases = {"-o"},
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = "Output",
         .brief = "File to write: CSV; features also writes .npy",
         .detail = "An existing file is replaced as a whole or not at all. features writes CSV or, for "
                   "FILE.npy, a NumPy array of float64 and next to it FILE.columns.txt with the names of its "
                   "columns. simulate writes CSV.",
         .example = "--data bars.csv --output features.csv",
         .commands = {"features", "simulate"},
         .required = true},
        {.name = "output",
         .aliases = {"-o"},
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = "Output",
         .brief = "The page to write: an HTML file outside the folders of the runs",
         .detail = "The page links to the reports of the runs by relative paths, so you can move it together "
                   "with them. Replaces an existing file completely or not at all.",
         .example = "TRAINING backtest --output results.html",
         .commands = {"report"},
         .default_text = "rekindle-report.html"},
        {.name = "bars",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 1, .high = 1e9},
         .group = "Simulation",
         .brief = "Number of one-minute bars",
         .detail = "How many rows the file gets. A trading day has 1,380 minutes; for two weeks per quarter, "
                   "two contracts trade at the same time.",
         .example = "--bars 1140000 --seed 1 --output simulated.csv",
         .commands = {"simulate"},
         .default_text = std::to_string(simulated.bars)},
        {.name = "seed",
         .aliases = {"-s"},
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 0},
         .group = "Simulation",
         .brief = "Seed; the same seed gives the same file",
         .detail =
             "Every random choice follows from it: the same options produce the same bytes on every machine.",
         .example = "--bars 1000 --seed 7 --output simulated.csv",
         .commands = {"simulate"},
         .default_text = std::to_string(simulated.seed)},
        {.name = "start-date",
         .value_name = "DATE",
         .group = "Simulation",
         .brief = "First trading day, YYYY-MM-DD",
         .detail =
             "The first trading day, 1995 or later. It begins at 18:00 New York time on the evening before.",
         .example = "--bars 1000 --start-date 2024-03-04 --output simulated.csv",
         .commands = {"simulate"},
         .default_text = market::format_date(simulated.start_date)},
        {.name = "device",
         .value_name = "DEVICE",
         .group = "Device",
         .brief = "gpu, gpu:N or the UUID of a device",
         .detail = "rekindle devices lists them. Without this option, every usable GPU is verified.",
         .example = "--device gpu:0",
         .commands = {"verify"}},
        {.name = "report",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = "Output",
         .brief = "Also write the result as JSON, to attach to an issue",
         .detail = "Contains device, driver, versions, limits and every row; no host or user name, path, "
                   "UUID or serial number.",
         .example = "--report card.json",
         .commands = {"verify"}},
        {.name = "only",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"all", "pages", "committed", "man", "completions"},
         .group = "Output",
         .brief = "What to write",
         .detail = "pages are the Markdown pages of commands, options, features and knowledge; committed are "
                   "those pages that the repository keeps, and hardware.md from the reports in hardware/; "
                   "man are the man pages in man1/; completions are the scripts for bash, zsh and fish.",
         .example = "docs --only committed",
         .commands = {"generate-docs"},
         .default_text = "all"},
    };
}

} // namespace rekindle::cli::rows
