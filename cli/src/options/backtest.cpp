#include "rows.h"

#include <rekindle/research/backtest_job.h>

#include <fmt/format.h>

namespace rekindle::cli::rows {

namespace {

const std::vector<std::string_view> only_backtest{"backtest"};

Exclusion without_predictions(std::string_view reason) {
    return {.option = "positions", .reason = reason};
}

std::vector<OptionSpec> signals() {
    const std::string_view group = "Signals";
    return {
        {.name = "predictions",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = group,
         .brief = "Predictions (CSV or Parquet), as rekindle predict --all writes them",
         .detail =
             "Needs the columns known_at (UTC) and prediction, and with --several-instruments the column "
             "instrument. The backtest begins with the first "
             "prediction and ends with the bar in which the last prediction became known.",
         .example = "--data bars.csv --predictions predictions.csv",
         .commands = only_backtest,
         .not_with = {without_predictions("both set the positions")}},
        {.name = "positions",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = group,
         .brief = "Positions (CSV or Parquet): known_at, position, and optionally orders",
         .detail = "The columns are known_at (UTC), position (the target position; negative: short), and "
                   "optionally instrument, limit or stop (price of the entry), stop_loss and take_profit. A "
                   "position "
                   "holds until the next row.",
         .example = "--data bars.csv --positions positions.csv",
         .commands = only_backtest},
        {.name = "network",
         .value_name = "NAME",
         .group = group,
         .brief = "Network to trade: a value of the column seed",
         .detail = "Without this option, the mean of the networks is traded if the file has it.",
         .example = "--network 42",
         .commands = only_backtest,
         .not_with = {without_predictions("positions have no networks")}},
        {.name = "fold",
         .value_name = "NAME",
         .group = group,
         .brief = "Only predictions of this fold",
         .detail = "A value of the column fold, such as validation.",
         .example = "--fold later",
         .commands = only_backtest,
         .not_with = {without_predictions("positions have no folds")}},
        {.name = "predictions-of",
         .value_name = "NAME",
         .group = group,
         .brief = "Only predictions of this instrument",
         .detail = "A value of the column instrument, for files of several instruments.",
         .example = "--predictions-of ES",
         .commands = only_backtest,
         .not_with = {without_predictions("positions have no instrument")}},
        {.name = "threshold",
         .kind = ValueKind::number,
         .value_name = "X",
         .range = {.low = 0},
         .group = group,
         .brief = "Trade only predictions farther than X from the center",
         .detail = "In the unit of the prediction: a log return, or a probability. Long above center + X, "
                   "short below center - X, otherwise flat.",
         .example = "--threshold 0.001",
         .commands = only_backtest,
         .default_text = "0",
         .not_with = {without_predictions("the rule applies to predictions only")}},
        {.name = "center",
         .kind = ValueKind::number,
         .value_name = "X",
         .group = group,
         .brief = "Prediction that means neither long nor short",
         .detail = "The default is 0 for returns and 0.5 for probabilities of a rise, which are recognized "
                   "by outcomes of 0 and 1.",
         .example = "--center 0.52",
         .commands = only_backtest,
         .not_with = {without_predictions("the rule applies to predictions only")}},
        {.name = "direction",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"both", "long", "short"},
         .group = group,
         .brief = "Sides that the predictions may trade",
         .detail = "With long, predictions that would be short mean flat; with short, predictions that "
                   "would be long mean flat.",
         .example = "--direction long",
         .commands = only_backtest,
         .default_text = "both",
         .not_with = {without_predictions("the signs of positions set the side")}},
        {.name = "hold",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 0},
         .group = group,
         .brief = "Close a position after N bars; 0: never",
         .detail = "A position ends after N bars unless another prediction has come by then.",
         .example = "--hold 1",
         .commands = only_backtest,
         .default_text = "0",
         .not_with = {without_predictions("positions hold until the next row")}},
        {.name = "stop-loss",
         .kind = ValueKind::number,
         .value_name = "P",
         .range = {.low = 0, .high = 100},
         .group = group,
         .brief = "Close a position at a loss of P percent; 0: never",
         .detail = "The price of the stop order is P percent from the last close before the decision. If a "
                   "bar opens beyond it, the order is filled at the open.",
         .example = "--stop-loss 2",
         .commands = only_backtest,
         .default_text = "0",
         .not_with = {without_predictions("the file has a column stop_loss")}},
        {.name = "take-profit",
         .kind = ValueKind::number,
         .value_name = "P",
         .range = {.low = 0},
         .group = group,
         .brief = "Close a position at a gain of P percent; 0: never",
         .detail = "The price of the limit order is P percent from the last close before the decision.",
         .example = "--take-profit 4",
         .commands = only_backtest,
         .default_text = "0",
         .not_with = {without_predictions("the file has a column take_profit")}},
    };
}

std::vector<OptionSpec> size() {
    const research::BacktestOptions defaults;
    const std::string_view group = "Size";
    return {
        {.name = "capital",
         .kind = ValueKind::number,
         .value_name = "MONEY",
         .range = {.low = 0, .low_excluded = true},
         .group = group,
         .brief = "Money at the start",
         .detail = "In the currency of the instrument's point value.",
         .example = "--capital 250000",
         .commands = only_backtest,
         .default_text = fmt::format("{:.0f}", defaults.capital)},
        {.name = "sizing",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"fixed", "fraction", "risk", "volatility"},
         .group = group,
         .brief = "How the number of contracts is chosen",
         .detail = "fixed: --size contracts. fraction: contracts worth --size times the equity. risk: "
                   "contracts that lose --size times the equity at the stop loss. volatility: contracts "
                   "whose value has an annual std of --size times the equity. A target position from a "
                   "file multiplies this size.",
         .example = "--sizing volatility --size 0.15",
         .commands = only_backtest,
         .default_text = "fixed"},
        {.name = "size",
         .kind = ValueKind::number,
         .value_name = "X",
         .range = {.low = 0, .low_excluded = true},
         .group = group,
         .brief = "Contracts, or a share of the equity (see --sizing)",
         .detail = "With --sizing fixed, the number of contracts, shares or coins; otherwise a share of the "
                   "equity.",
         .example = "--size 2",
         .commands = only_backtest,
         .default_text = fmt::format("{:g}", defaults.sizing.amount)},
        {.name = "size-step",
         .kind = ValueKind::number,
         .value_name = "X",
         .range = {.low = 0, .low_excluded = true},
         .group = group,
         .brief = "Contracts are multiples of X",
         .detail = "The number of contracts is rounded toward zero. Coins and currencies can trade in "
                   "steps smaller than 1.",
         .example = "--size-step 0.001",
         .commands = only_backtest,
         .default_text = fmt::format("{:g}", defaults.sizing.step)},
        {.name = "lookback",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 2},
         .group = group,
         .brief = "Bars from which the volatility is estimated",
         .detail = "Only for --sizing volatility: the std of the last N changes of the close.",
         .example = "--sizing volatility --size 0.15 --lookback 60",
         .commands = only_backtest,
         .default_text = std::to_string(defaults.sizing.lookback)},
        {.name = "rebalance",
         .kind = ValueKind::flag,
         .group = group,
         .brief = "Resize the position at each decision",
         .detail = "Without this option, a position keeps its size until its target position changes.",
         .example = "--sizing fraction --size 1 --rebalance",
         .commands = only_backtest},
    };
}

std::vector<OptionSpec> costs() {
    const std::string_view group = "Costs";
    const auto cost = [&](std::string_view name, std::string_view value, std::string_view brief,
                          std::string_view detail, std::string_view example) {
        return OptionSpec{.name = name,
                          .kind = ValueKind::number,
                          .value_name = value,
                          .range = {.low = 0},
                          .group = group,
                          .brief = brief,
                          .detail = detail,
                          .example = example,
                          .commands = only_backtest};
    };
    OptionSpec point_value =
        cost("point-value", "MONEY", "Value of one point per contract",
             "The default is the instrument's value (50 USD for ES), or 1.", "--point-value 50");
    point_value.range.low_excluded = true;
    return {
        point_value,
        cost("commission", "MONEY", "Commission per contract and fill",
             "With this option, no commission in percent is charged unless it is given too. 0 for none.",
             "--commission 2.1"),
        cost("commission-percent", "P", "Commission per fill, in percent of its value",
             "With this option, no commission for each contract is charged unless it is given too.",
             "--commission-percent 0.05"),
        cost("slippage-ticks", "N", "Ticks lost on each market or stop order",
             "With this option, no slippage in percent is charged unless it is given too. 0 for none.",
             "--slippage-ticks 0.5"),
        cost("slippage-percent", "P", "Percent of the price lost on each market or stop order",
             "With this option, no slippage in ticks is charged unless it is given too.",
             "--slippage-percent 0.02"),
        cost("margin-percent", "P", "Equity that a position needs, in percent of its value",
             "Orders whose margin the equity does not cover are refused; when equity falls below half of "
             "the margin, the position is closed. 0 for no limit.",
             "--margin-percent 10"),
        {.name = "costs",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = group,
         .brief = "Your own list of trading costs, as YAML",
         .detail = "Replaces the built-in list of typical commission, slippage and margin. docs/formats/"
                   "trading-costs.md describes the file.",
         .example = "--costs my-costs.yaml",
         .commands = only_backtest},
    };
}

std::vector<OptionSpec> judgment() {
    return {
        {.name = "trials",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 1},
         .group = "Judgment",
         .brief = "How many settings were tried, including this one",
         .detail = "Count every model, rule and option that was tried on these bars, even if it was "
                   "dropped. The best of many looks good without skill, so the verdict demands more of it.",
         .example = "--trials 50",
         .commands = only_backtest,
         .default_text = "1"},
        {.name = "seed",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 0},
         .group = "Judgment",
         .brief = "Seed of the bootstrap intervals",
         .detail = "Only the intervals depend on the seed.",
         .example = "--seed 7",
         .commands = only_backtest,
         .default_text = "0"},
        {.name = "output",
         .aliases = {"-o"},
         .kind = ValueKind::path,
         .value_name = "FOLDER",
         .group = "Output",
         .brief = "Folder for trades.csv, equity.csv, backtest.json, report.html",
         .detail = "The folder is created if necessary; existing files of these names are replaced.",
         .example = "--output results/es",
         .commands = only_backtest,
         .default_text = "backtest"},
    };
}

} // namespace

std::vector<OptionSpec> backtest() {
    std::vector<OptionSpec> rows;
    for (const auto& part : {signals(), size(), costs(), judgment()})
        rows.insert(rows.end(), part.begin(), part.end());
    return rows;
}

} // namespace rekindle::cli::rows
