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

/// Calls scan(row) for every row from `first` on and lets go of each block once it is through.
template <class Scan>
void for_each_row(const FeatureMatrix& matrix, std::size_t first, const Workspace& workspace, Scan scan) {
    const std::size_t block = workspace.rows_per_block(1 << 16);
    for (std::size_t begin = first; begin < matrix.rows(); begin += block) {
        const std::size_t end = std::min(matrix.rows(), begin + block);
        for (std::size_t row = begin; row < end; ++row)
            scan(row);
        matrix.release(begin, end - begin);
    }
}

/// "a (3 rows), b (1 row)" of the columns that are not finite in rows [first, rows).
std::string name_causes(const FeatureMatrix& matrix, std::size_t first, const Workspace& workspace) {
    std::vector<std::size_t> counts(matrix.columns(), 0);
    for_each_row(matrix, first, workspace, [&](std::size_t row) {
        for (std::size_t column = 0; column < counts.size(); ++column)
            counts[column] += !std::isfinite(matrix.at(row, column));
    });
    std::string text;
    for (std::size_t column = 0; column < counts.size(); ++column)
        if (const std::size_t count = counts[column]; count > 0)
            text += fmt::format("{}{} ({} row{})", text.empty() ? "" : ", ", matrix.names[column],
                                with_thousands(static_cast<std::int64_t>(count)), count == 1 ? "" : "s");
    return text;
}

void keep_complete_rows(FeatureMatrix& matrix, std::size_t first, const Workspace& workspace) {
    const std::size_t columns = matrix.columns();
    std::size_t to = 0;
    for_each_row(matrix, first, workspace, [&](std::size_t from) {
        if (!is_complete(matrix.row(from)))
            return;
        std::copy_n(matrix.values.data() + from * columns, columns, matrix.values.data() + to * columns);
        matrix.known_at[to] = matrix.known_at[from];
        matrix.dates[to] = matrix.dates[from];
        matrix.source[to++] = matrix.source[from];
    });
    matrix.values.truncate(to * columns);
    matrix.known_at.truncate(to);
    matrix.dates.truncate(to);
    matrix.source.truncate(to);
    matrix.release(0, to);
}

} // namespace

void FeatureMatrix::release(std::size_t first, std::size_t count) const noexcept {
    values.release(first * columns(), count * columns());
    known_at.release(first, count);
    dates.release(first, count);
    source.release(first, count);
}

void drop_incomplete_rows(FeatureMatrix& matrix, const char* row_noun, const Workspace& workspace) {
    std::size_t first = 0;
    std::size_t kept = 0;
    for_each_row(matrix, 0, workspace, [&](std::size_t row) {
        if (is_complete(matrix.row(row)) && kept++ == 0)
            first = row;
    });
    if (kept == 0) {
        std::string what = fmt::format("no {} has a value for every feature", row_noun);
        if (matrix.rows() > 0)
            what += ": " + name_causes(matrix, 0, workspace);
        throw usage_error(std::move(what))
            .hint("Give more data, or choose feature groups with shorter look-backs.");
    }
    if (kept == matrix.rows())
        return;
    const std::size_t later = matrix.rows() - first - kept;
    matrix.dropped_first += first;
    if (later > 0) {
        matrix.dropped_later += later;
        matrix.notes.push_back(fmt::format("{} {}{} left out because a feature has no finite value there: {}",
                                           with_thousands(static_cast<std::int64_t>(later)), row_noun,
                                           later == 1 ? "" : "s", name_causes(matrix, first, workspace)));
    }
    keep_complete_rows(matrix, first, workspace);
}

} // namespace rekindle::market
