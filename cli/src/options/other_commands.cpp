#include "rows.h"

namespace rekindle::cli::rows {

std::vector<OptionSpec> other_commands() {
    return {
        {.name = "model",
         .aliases = {"-m"},
         .kind = ValueKind::path,
         .value_name = "RUN",
         .group = "Model",
         .brief = "Run folder of a trained network, or a .pt file",
         .detail =
             "The folder that rekindle train made. A .pt file of the original system is read too; its pickle "
             "is parsed as data and nothing in it is ever called.",
         .example = "--model TRAINING/train_20261121_101500 --data bars.csv",
         .commands = {"predict"},
         .required = true},
        {.name = "scaler",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = "Model",
         .brief = "Scaler (JSON) of a .pt file that has none",
         .detail = "Files of the original system hold no scaler, so centre and scale of each feature must be "
                   "given.",
         .example = "--model best_model.pt --scaler scaler.json --data bars.csv",
         .commands = {"predict"}},
        {.name = "format",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"text", "json"},
         .group = "Output",
         .brief = "Result as text or as one JSON object",
         .detail = "text is for people, json for programs: all figures in full precision.",
         .example = "--format json",
         .commands = {"predict", "inspect", "devices"},
         .default_text = "text"},
        {.name = "output",
         .aliases = {"-o"},
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = "Output",
         .brief = "File to write; its ending chooses the format",
         .detail =
             "volume-profile writes CSV (date,vpoc,value_area_low,value_area_high,value_area_width,"
             "total_volume; prices in points) or, to FILE.json, JSON. features writes CSV or, to FILE.npy, "
             "a NumPy array beside the names of its columns. simulate writes CSV. A file that exists is "
             "replaced at once and whole, or not at all.",
         .example = "--data bars.csv --output result.csv",
         .commands = {"volume-profile", "features", "simulate"}},
        {.name = "draw",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 0},
         .group = "Output",
         .brief = "Draw the profiles of the last N sessions",
         .detail =
             "Draws volume by price in the terminal: the point of control and the value area are marked with "
             "letters, not by colour alone.",
         .example = "--draw 3",
         .commands = {"volume-profile"},
         .default_text = "1"},
        {.name = "bars",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 1},
         .group = "Simulation",
         .brief = "One-minute bars to make",
         .detail = "How many bars the file gets. A trading day has about 1,380.",
         .example = "--bars 1140000 --seed 1 --output simulated.csv",
         .commands = {"simulate"},
         .default_text = "100000"},
        {.name = "seed",
         .aliases = {"-s"},
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 0},
         .group = "Simulation",
         .brief = "Seed; the same seed gives the same file",
         .detail = "Every random choice follows from it, on every machine.",
         .example = "--bars 1000 --seed 7 --output simulated.csv",
         .commands = {"simulate"},
         .default_text = "1"},
        {.name = "only",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"all", "pages", "man", "completions"},
         .group = "Output",
         .brief = "What to write",
         .detail =
             "pages are the Markdown files flags/ and commands/, man the manual pages man1/, completions the "
             "scripts for bash, zsh and fish.",
         .example = "docs --only pages",
         .commands = {"generate-docs"},
         .default_text = "all"},
    };
}

} // namespace rekindle::cli::rows
