#include "features/finish_matrix.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rekindle::market {
namespace {

bool is_complete(std::span<const double> row) {
    return std::all_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); });
}

/// "a (3 rows), b (1 row)": the columns that are not finite in rows [first, rows).
std::string name_causes(const FeatureMatrix& matrix, std::size_t first, const Workspace& workspace) {
    std::vector<std::size_t> counts(matrix.columns(), 0);
    for_each_row(matrix, first, workspace, [&](std::size_t row) {
        for (std::size_t column = 0; column < counts.size(); ++column)
            counts[column] += !std::isfinite(matrix.at(row, column));
    });
    std::string text;
    for (std::size_t column = 0; column < counts.size(); ++column)
        if (const std::size_t count = counts[column]; count > 0)
            text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", matrix.names[column],
                                counted(count, "row"));
    return text;
}

} // namespace

void FeatureMatrix::release(std::size_t first, std::size_t count) const noexcept {
    values.release(first * columns(), count * columns());
    known_at.release(first, count);
    dates.release(first, count);
    source.release(first, count);
    if (!instrument.empty())
        instrument.release(first, count);
}

void drop_incomplete_rows(FeatureMatrix& matrix, const char* row_noun, const Workspace& workspace,
                          NoRows no_rows) {
    std::size_t first = 0;
    std::size_t kept = 0;
    for_each_row(matrix, 0, workspace, [&](std::size_t row) {
        if (is_complete(matrix.row(row)) && kept++ == 0)
            first = row;
    });
    if (kept == 0 && no_rows == NoRows::keep_none) {
        keep_rows(matrix, matrix.rows(), workspace, [](std::size_t) { return false; });
        return;
    }
    if (kept == 0) {
        std::string what = fmt::format("no {} has a value for every feature", row_noun);
        if (matrix.rows() > 0)
            what += ": " + name_causes(matrix, 0, workspace);
        throw usage_error(std::move(what))
            .hint("Use more data, or choose feature groups with shorter look-backs.");
    }
    if (kept == matrix.rows())
        return;
    const std::size_t later = matrix.rows() - first - kept;
    matrix.dropped_first += first;
    if (later > 0) {
        matrix.dropped_later += later;
        matrix.notes.push_back(fmt::format("{} skipped because a feature has no finite value there: {}",
                                           counted(later, row_noun), name_causes(matrix, first, workspace)));
    }
    keep_rows(matrix, first, workspace, [&](std::size_t row) { return is_complete(matrix.row(row)); });
}

} // namespace rekindle::market
