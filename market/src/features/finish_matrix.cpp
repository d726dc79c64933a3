#include "features/finish_matrix.h"

#include <rekindle/base/error.h>
#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rekindle::market {
namespace {

bool is_complete(std::span<const double> row) {
    return std::all_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); });
}

/// "a (3 rows), b (1 row)" of the columns that are not finite in rows [first, rows).
std::string name_causes(const FeatureMatrix& matrix, std::size_t first) {
    std::string text;
    for (std::size_t column = 0; column < matrix.columns(); ++column) {
        std::size_t count = 0;
        for (std::size_t row = first; row < matrix.rows(); ++row)
            count += !std::isfinite(matrix.at(row, column));
        if (count > 0)
            text += fmt::format("{}{} ({} row{})", text.empty() ? "" : ", ", matrix.names[column],
                                with_thousands(static_cast<std::int64_t>(count)), count == 1 ? "" : "s");
    }
    return text;
}

void keep_rows(FeatureMatrix& matrix, const std::vector<std::size_t>& kept) {
    const std::size_t columns = matrix.columns();
    for (std::size_t to = 0; to < kept.size(); ++to) {
        const std::size_t from = kept[to];
        std::copy_n(matrix.values.begin() + static_cast<std::ptrdiff_t>(from * columns), columns,
                    matrix.values.begin() + static_cast<std::ptrdiff_t>(to * columns));
        matrix.known_at[to] = matrix.known_at[from];
        matrix.dates[to] = matrix.dates[from];
        matrix.source[to] = matrix.source[from];
    }
    matrix.values.resize(kept.size() * columns);
    matrix.known_at.resize(kept.size());
    matrix.dates.resize(kept.size());
    matrix.source.resize(kept.size());
}

} // namespace

void drop_incomplete_rows(FeatureMatrix& matrix, const char* row_noun) {
    std::vector<std::size_t> kept;
    kept.reserve(matrix.rows());
    for (std::size_t row = 0; row < matrix.rows(); ++row)
        if (is_complete(matrix.row(row)))
            kept.push_back(row);
    if (kept.empty()) {
        std::string what = fmt::format("no {} has a value for every feature", row_noun);
        if (matrix.rows() > 0)
            what += ": " + name_causes(matrix, 0);
        throw usage_error(std::move(what))
            .hint("Give more data, or choose feature groups with shorter look-backs.");
    }
    if (kept.size() == matrix.rows())
        return;
    const std::size_t first = kept.front();
    const std::size_t later = matrix.rows() - first - kept.size();
    matrix.dropped_first += first;
    if (later > 0) {
        matrix.dropped_later += later;
        matrix.notes.push_back(fmt::format("{} {}{} left out because a feature has no finite value there: {}",
                                           with_thousands(static_cast<std::int64_t>(later)), row_noun,
                                           later == 1 ? "" : "s", name_causes(matrix, first)));
    }
    keep_rows(matrix, kept);
}

} // namespace rekindle::market
