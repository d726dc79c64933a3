#pragma once
/// The next session's value from a trained model.

#include <rekindle/base/cancellation.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/predict_options.h>
#include <rekindle/trainer/predictions.h>
#include <rekindle/trainer/progress.h>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace rekindle::trainer {

/// Values are in the unit of the target: a log return, a volatility, or the probability of a rise.
struct Prediction {
    std::string target;         ///< "log return of the next session, close to close"
    std::string what;           ///< what `value` is: "Predicted log return"
    bool probability = false;   ///< `value` is one
    bool is_return = false;     ///< `value` is a log return, so it implies a price
    bool per_bar = false;       ///< predicted from a bar, not from a session
    std::string name;           ///< of the instrument, with --several-instruments
    std::string instrument;     ///< of the data: "ES (bars.csv)", or its files where it names no contract
    std::string bar_length;     ///< of the data: "1 minute"; empty for bars without a usual length
    std::string from_session;   ///< "2025-02-27": of the bar, or the last complete session
    std::string from_timestamp; ///< end of the last bar that was used, with its zone
    std::string data_end;       ///< end of the last bar of the data, with its zone
    double value = 0;           ///< for a population, the mean of its networks
    std::size_t networks = 1;   ///< how many networks `value` is the mean of
    double spread = 0;          ///< standard deviation of their predictions; 0 for one network
    double interval_low = 0, interval_high = 0; ///< contain `value`; NaN when unknown
    double interval_level = 0.9;                ///< share of validation outcomes inside such an interval
    double baseline = 0;                        ///< the baseline's prediction
    std::string baseline_name;                  ///< "zero return", "share of rises in training"
    double price = 0;                           ///< close of that bar or session, points
    int price_decimals = 2;                     ///< that the tick has
    std::string verdict;                        ///< the model's verdict from its run folder
    std::vector<std::string> notes;             ///< about this prediction
    std::vector<std::string> data_notes;        ///< about the data, already logged while reading
};

/// Makes one prediction for each instrument of the data, ordered by name; a model of one instrument makes
/// one. Each starts at the last bar of the data (group minute) or at the last complete session. Throws Error
/// (usage) when the model's features, tick, length of bars, session rules or instrument differ from the
/// data's, naming the difference.
std::vector<Prediction> predict_each(const PredictOptions& options, ProgressSink& progress,
                                     const CancellationToken& cancellation,
                                     const BarReader& read_bars = market::read_bars);
/// The same for a model of one instrument.
Prediction predict(const PredictOptions& options, ProgressSink& progress,
                   const CancellationToken& cancellation, const BarReader& read_bars = market::read_bars);

/// The result of predict_all().
struct AllPredictions {
    PredictionTable table;
    std::string target;              ///< as Prediction::target
    std::size_t validation_rows = 0; ///< number of first rows of the table whose loss chose the epoch
    std::vector<std::string> notes;
};

/// Predicts every row that was known when the validation set began or later, of every instrument of the data,
/// in the order of time. Throws Error (usage) like
/// predict(), and if the model does not record which rows it was trained on, or if no row is that late.
AllPredictions predict_all(const PredictOptions& options, ProgressSink& progress,
                           const CancellationToken& cancellation,
                           const BarReader& read_bars = market::read_bars);

/// For people, one fact per line; and for programs.
std::vector<std::string> describe(const Prediction& prediction);
void to_json(nlohmann::ordered_json& json, const Prediction& prediction);

} // namespace rekindle::trainer
