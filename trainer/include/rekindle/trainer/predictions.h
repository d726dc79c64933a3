#pragma once
/// Out-of-sample predictions as a table, and the files predictions.csv and predictions.parquet
/// (docs/formats/predictions.md).

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::trainer {

/// A column of text with few distinct words.
struct WordColumn {
    std::vector<std::string> words;
    std::vector<std::uint32_t> indices; ///< one per row

    const std::string& at(std::size_t row) const { return words[indices.at(row)]; }
    void add(std::string_view word);
};

/// The fold of the rows whose loss chose the epoch of the network that predicts them.
inline constexpr std::string_view validation_fold = "validation";

/// One row for each network and each row of features that it predicted and was not trained on. Columns have
/// equal lengths. Predictions and outcomes are in the unit of the target: a log return, a volatility, or
/// the probability of a rise. NaN: unknown.
struct PredictionTable {
    bool utc = true;                    ///< false: `known_at` is a label whose zone is unknown (Clock::raw)
    std::vector<std::int64_t> known_at; ///< seconds since 1970-01-01T00:00:00: the prediction can be made
                                        ///< from then on
    std::vector<std::int32_t> session;  ///< date of the row's session, days since 1970-01-01
    WordColumn instrument;
    WordColumn fold; ///< "validation", "later", the number of a window, "path 3", "final"
    WordColumn seed; ///< "42", or "mean" for the mean of several networks
    std::vector<double> prediction;
    std::vector<double> sigma; ///< standard deviation of the outcome around the prediction
    /// NaN also where the target has no value, such as a direction without a move.
    std::vector<double> outcome;
    std::vector<double> baseline; ///< the training mean: what a model without features predicts

    std::size_t rows() const noexcept { return known_at.size(); }
};

/// Written atomically. Throw Error naming the file.
void write_predictions_csv(const std::filesystem::path& path, const PredictionTable& table);
void write_predictions_parquet(const std::filesystem::path& path, const PredictionTable& table);
/// Parquet if the name ends in .parquet, otherwise CSV.
void write_predictions(const std::filesystem::path& path, const PredictionTable& table);

} // namespace rekindle::trainer
