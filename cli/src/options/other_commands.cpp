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
         .detail = "The folder that rekindle train made, or a .pt, .safetensors or _metadata.json file of "
                   "one. A .pt or "
                   ".safetensors file of the original system is read too: its output is taken for the "
                   "original's logit "
                   "and the features are made by the original's rules. A pickle is parsed as data and "
                   "nothing in it is "
                   "ever called.",
         .example = "--model TRAINING/train_20261121_101500 --data bars.csv",
         .commands = {"predict"},
         .required = true},
        {.name = "scaler",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = "Model",
         .brief = "Scaler (JSON) of a model file that has none",
         .detail =
             "Files of the original system hold no scaler, so center and scale of each feature must be "
             "given: a JSON file, or the folder, metadata or .pt file of a run whose scaler is to be used.",
         .example = "--model best_model.pt --scaler scaler.json --data bars.csv",
         .commands = {"predict"}},
        {.name = "other-instrument",
         .kind = ValueKind::flag,
         .group = "Model",
         .brief = "Predict although the data are of another instrument",
         .detail =
             "A run knows the names of its contracts and the closes of its last sessions. Data with other "
             "names, or whose closes move differently on the dates that both have, are refused with both "
             "names; with this option they are used and the contradiction is a note. Features hold prices in "
             "points, so such a prediction means something for instruments of the same price only.",
         .example = "--model TRAINING/train_20261121_101500 --data mes.csv --other-instrument",
         .commands = {"predict"}},
        {.name = "format",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"text", "json"},
         .group = "Output",
         .brief = "Result as text or as one JSON object",
         .detail = "text is for people, json for programs: all figures in full precision.",
         .example = "--format json",
         .commands = {"predict", "inspect", "devices", "verify"},
         .default_text = "text",
         .not_with = {{.option = "log-format",
                       .word = "json",
                       .reason = "the result is then a line of JSON among the messages",
                       .own_word = "text"}}},
        {.name = "output",
         .aliases = {"-o"},
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = "Output",
         .brief = "CSV, or JSON when it ends in .json; - is standard output",
         .detail =
             "The CSV has the columns date,vpoc,value_area_low,value_area_high,value_area_width,total_volume "
             "with prices in points. JSON has more: nodes, untested points of control, trends, rules. A file "
             "that exists is replaced as a whole or not at all.",
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
         .detail =
             "Runs of sessions in which the point of control moves one way, with the columns start_date,"
             "end_date,direction,consecutive_count,vpoc_start,vpoc_end,vpoc_change.",
         .example = "--data bars.csv --trends trends.csv",
         .commands = {"volume-profile"}},
        {.name = "draw",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 0},
         .group = "Output",
         .brief = "Draw the profiles of the last N sessions",
         .detail =
             "Draws volume by price in the terminal: the point of control and the value area are marked with "
             "letters, not by color alone.",
         .example = "--draw 3",
         .commands = {"volume-profile"},
         .default_text = "1",
         .not_with = {{.option = "output",
                       .word = "-",
                       .reason = "the drawing would stand among the rows on standard output"},
                      {.option = "log-format", .word = "json", .reason = "a drawing is not a line of JSON"}}},
        {.name = "output",
         .aliases = {"-o"},
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = "Output",
         .brief = "File to write: CSV, or of features also .npy",
         .detail =
             "A file that exists is replaced as a whole or not at all. features writes CSV or, to FILE.npy, "
             "a "
             "NumPy array of float64 and beside it FILE.columns.txt with the names of its columns. simulate "
             "writes CSV.",
         .example = "--data bars.csv --output features.csv",
         .commands = {"features", "simulate"},
         .required = true},
        {.name = "bars",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 1, .high = 1e9},
         .group = "Simulation",
         .brief = "One-minute bars to make",
         .detail =
             "How many rows the file gets. A trading day has 1,380 minutes; for two weeks a quarter two "
             "contracts trade beside each other.",
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
             "Every random choice follows from it: the same options give the same bytes on every machine.",
         .example = "--bars 1000 --seed 7 --output simulated.csv",
         .commands = {"simulate"},
         .default_text = std::to_string(simulated.seed)},
        {.name = "start-date",
         .value_name = "DATE",
         .group = "Simulation",
         .brief = "First trading day, YYYY-MM-DD",
         .detail = "The first trading day, not before 1995. It begins at 18:00 New York time on the evening "
                   "before.",
         .example = "--bars 1000 --start-date 2024-03-04 --output simulated.csv",
         .commands = {"simulate"},
         .default_text = market::format_date(simulated.start_date)},
        {.name = "device",
         .value_name = "DEVICE",
         .group = "Device",
         .brief = "gpu, gpu:N or the UUID of a device",
         .detail = "rekindle devices lists them. Without it, every GPU that can be used.",
         .example = "--device gpu:0",
         .commands = {"verify"}},
        {.name = "report",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = "Output",
         .brief = "Write the result as JSON too, to attach to an issue",
         .detail = "Device, driver, versions, limits and every row; no host or user name, path, UUID or "
                   "serial number.",
         .example = "--report card.json",
         .commands = {"verify"}},
        {.name = "only",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"all", "pages", "man", "completions"},
         .group = "Output",
         .brief = "What to write",
         .detail = "pages are the Markdown files flags/ and commands/, and hardware.md from the reports in "
                   "hardware/; man the manual pages man1/, completions the scripts for bash, zsh and fish.",
         .example = "docs --only pages",
         .commands = {"generate-docs"},
         .default_text = "all"},
    };
}

} // namespace rekindle::cli::rows
