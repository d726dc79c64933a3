#include "rows.h"

namespace rekindle::trainer::rows {

std::vector<Setting> input() {
    const std::string_view group = "Input";
    return {
        {.name = "data",
         .field = &TrainConfig::data,
         .aliases = {"-d"},
         .form = ValueKind::path_list,
         .value_name = "PATH",
         .group = group,
         .brief = "Files or folders of bars: CSV, Parquet, SCID, DBN",
         .detail = "The bars to read. Several files, or all files in a folder, are read as one history in "
                   "chronological order. The format is detected: any CSV with a time, open, high, low, close "
                   "and volume, NinjaTrader's export, Parquet, Sierra Chart's SCID and Databento's DBN; text "
                   "also as .gz, .zst or .zip.",
         .example = "--data DATA/MERGED/merged_es_vix_test.csv",
         .commands = {"train", "walk-forward", "search", "predict", "volume-profile", "features", "backtest",
                      "import-model"},
         .required = true,
         .part = SettingPart::data_file},
        {.name = "vix",
         .field = &TrainConfig::vix,
         .form = ValueKind::path,
         .value_name = "FILE",
         .group = group,
         .brief = "Separate file of daily VIX closes",
         .detail =
             "A CSV file with a date and a closing value. Each bar gets the last value published before it. "
             "Without this option, a VIX column of the bars is used where features ask for it.",
         .example = "--vix VIX_History.csv",
         .commands = vix_readers,
         .part = SettingPart::data_file},
        {.name = "columns",
         .field = &TrainConfig::columns,
         .value_name = "MAP",
         .group = group,
         .brief = "Which column is what: time=1,open=Open,...",
         .detail = "Pairs NAME=COLUMN separated by commas, where COLUMN is a heading or a number that counts "
                   "from 1. Names are time, date, clock, open, high, low, close, volume, bid_volume, "
                   "ask_volume, contract and vix. Without this option, the columns are recognized by their "
                   "headings.",
         .example = "--columns time=1,open=Open,high=High,low=Low,close=Close,volume=Volume",
         .commands = readers,
         .part = SettingPart::data_file},
        {.name = "contract",
         .field = &TrainConfig::contract,
         .aliases = {"-c"},
         .value_name = "NAME",
         .special_words = {"all"},
         .group = group,
         .brief = "Only contracts whose name begins with NAME",
         .detail =
             "Uses the contracts whose names begin with the given text, for example ES or \"ES 03-25\", or "
             "with one of several texts separated by commas. The word all uses every contract. It is an "
             "error when no contract matches.",
         .example = "--contract ES",
         .commands = readers,
         .part = SettingPart::data_file},
        {.name = "several-instruments",
         .field = choice_field<&TrainConfig::several_instruments>,
         .value_name = "WORD",
         .group = group,
         .brief = "The bars belong to several instruments",
         .detail =
             "Each instrument has its own sessions, tick, profiles, features, targets and rolls, and one "
             "model is trained on the rows of all of them. backtest gives each an equal share of the "
             "capital. A column such as symbol says which instrument a "
             "bar belongs to; without one, the name of its file does (AAPL.csv). With by-root, contracts "
             "such as ESH5 and ESM5 are one instrument, and a name without a delivery month is an instrument "
             "of its own; with by-name, every name is. With no, bars of different instruments are refused, "
             "except by inspect, which then describes each instrument as with by-root.",
         .example = "--data prices.csv --several-instruments by-name",
         .commands = readers_of_several,
         .not_with = {{.option = "chain", .reason = "it makes all files one history"},
                      {.option = "compat",
                       .word = "original",
                       .reason = "the original system trains on one instrument"}}},
        {.name = "chain",
         .field = &TrainConfig::chain,
         .group = group,
         .brief = "Files of other names are parts of one history",
         .detail =
             "Files whose bars name no contract are read as one history when their names differ only in "
             "dates, numbers of parts and words such as daily (ES-2023.csv, ES-2024.csv); otherwise they "
             "are refused, because they may hold different instruments. With this option they are "
             "joined whatever their names and prices are.",
         .example = "--data spy_before_2020.csv spy_since.csv --chain",
         .commands = readers,
         .part = SettingPart::data_file},
        {.name = "data-fraction",
         .field = &TrainConfig::data_fraction,
         .aliases = {"-df"},
         .value_name = "F",
         .range = {.low = 0, .high = 1, .low_excluded = true},
         .group = group,
         .brief = "Use only the latest fraction F of the sessions",
         .detail = "A fraction of the sessions, counted from the end of the data: 0.25 keeps the latest "
                   "quarter. Whole sessions are kept, so the minutes within a session stay complete.",
         .example = "--data-fraction 0.25",
         .commands = {"train", "walk-forward", "search", "features"}},
        {.name = "tick",
         .field = &TrainConfig::tick,
         .value_name = "SIZE",
         .special_words = {"auto", "none"},
         .group = group,
         .brief = "Smallest price step in points; auto infers it",
         .detail =
             "The smallest step between two prices, in points: 0.25 for ES. auto infers it from the data and "
             "prints it. Prices within 2 % of a tick are rounded and counted; others are errors. Adjusted "
             "prices "
             "have no tick: auto says so and chooses the width of the profiles' bins from the price; none "
             "does "
             "the same for any prices, and none:WIDTH gives the width in points.",
         .example = "--tick 0.25",
         .commands = readers,
         .part = SettingPart::data_file},
        {.name = "bad-rows",
         .field = choice_field<&TrainConfig::bad_rows>,
         .value_name = "WORD",
         .group = group,
         .brief = "Stop at malformed rows, or skip them and list them",
         .detail =
             "With error, the first ten malformed rows are shown with file, line and column, and nothing is "
             "written. With skip, they are skipped and listed with their reasons in rejected.csv.",
         .example = "--bad-rows skip",
         .commands = readers,
         .part = SettingPart::data_file},
        {.name = "chunk-size",
         .field = &TrainConfig::chunk_size,
         .value_name = "BARS",
         .range = {.low = 0},
         .group = group,
         .brief = "Bars read at a time; 0: as many as fit",
         .detail = "How many bars are held in memory at a time. Results are the same for every value (with "
                   "--compat original it is also the original's number of bars per profile chunk, which can "
                   "change its float32 sums); a small value needs less memory and more time, so that a file "
                   "larger than memory can be used.",
         .example = "--chunk-size 3500",
         .commands = profilers,
         .part = SettingPart::data_file},
    };
}

} // namespace rekindle::trainer::rows
