#include <rekindle/base/text.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/parquet_writer.h>
#include <rekindle/trainer/predictions.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rekindle::trainer {

namespace {

constexpr std::size_t buffered_bytes = std::size_t{1} << 16;

/// A field of a CSV file, in quotes if it needs them (RFC 4180).
std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string quoted = "\"";
    for (const char c : text)
        quoted.append(c == '"' ? 2 : 1, c);
    return quoted + '"';
}

void append_number(std::string& line, double value) {
    line += ',';
    if (!std::isnan(value))
        line += shortest(value);
}

/// "2025-02-27T21:00:00Z"; without the Z if the zone is unknown.
std::string instant_text(std::int64_t seconds, bool utc) {
    std::string text = market::format_civil(seconds);
    text[text.find(' ')] = 'T';
    return utc ? text + 'Z' : text;
}

} // namespace

void WordColumn::add(std::string_view word) {
    // Tries the last word first, because rows of the same network and window follow one another.
    const std::size_t last = indices.empty() ? 0 : indices.back();
    if (!indices.empty() && words[last] == word) {
        indices.push_back(indices.back());
        return;
    }
    const auto found = std::ranges::find(words, word);
    indices.push_back(static_cast<std::uint32_t>(found - words.begin()));
    if (found == words.end())
        words.emplace_back(word);
}

void write_predictions_csv(const std::filesystem::path& path, const PredictionTable& table) {
    AtomicFile file(path);
    std::string text = "known_at,session,instrument,fold,seed,prediction,sigma,outcome,baseline\n";
    for (std::size_t row = 0; row < table.rows(); ++row) {
        text += instant_text(table.known_at[row], table.utc);
        text += ',';
        text += market::format_date(table.session[row]);
        for (const WordColumn* column : {&table.instrument, &table.fold, &table.seed})
            text += ',' + csv_field(column->at(row));
        for (const auto* column : {&table.prediction, &table.sigma, &table.outcome, &table.baseline})
            append_number(text, (*column)[row]);
        text += '\n';
        if (text.size() > buffered_bytes) {
            file.write(text);
            text.clear();
        }
    }
    file.write(text);
    file.commit();
}

void write_predictions_parquet(const std::filesystem::path& path, const PredictionTable& table) {
    const auto texts = [](const WordColumn& column) {
        return market::ParquetTexts{column.words, column.indices};
    };
    const std::array<market::ParquetColumn, 9> columns{
        {{"known_at", market::ParquetInstants{table.known_at, table.utc}},
         {"session", market::ParquetDates{table.session}},
         {"instrument", texts(table.instrument)},
         {"fold", texts(table.fold)},
         {"seed", texts(table.seed)},
         {"prediction", market::ParquetNumbers{table.prediction}},
         {"sigma", market::ParquetNumbers{table.sigma}},
         {"outcome", market::ParquetNumbers{table.outcome}},
         {"baseline", market::ParquetNumbers{table.baseline}}}};
    market::write_parquet(path, columns);
}

void write_predictions(const std::filesystem::path& path, const PredictionTable& table) {
    if (path.extension() == ".parquet")
        write_predictions_parquet(path, table);
    else
        write_predictions_csv(path, table);
}

} // namespace rekindle::trainer
