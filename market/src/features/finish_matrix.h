#pragma once
#include <rekindle/market/feature_matrix.h>

#include <algorithm>

namespace rekindle::market {

/// Calls scan(row) for every row from `first` on and releases each block after it is done.
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

/// Removes the rows before `first` and those for which keep(row) is false.
template <class Keep>
void keep_rows(FeatureMatrix& matrix, std::size_t first, const Workspace& workspace, Keep keep) {
    const std::size_t columns = matrix.columns();
    std::size_t to = 0;
    for_each_row(matrix, first, workspace, [&](std::size_t from) {
        if (!keep(from))
            return;
        std::copy_n(matrix.values.data() + from * columns, columns, matrix.values.data() + to * columns);
        matrix.known_at[to] = matrix.known_at[from];
        matrix.dates[to] = matrix.dates[from];
        if (!matrix.instrument.empty())
            matrix.instrument[to] = matrix.instrument[from];
        matrix.source[to++] = matrix.source[from];
    });
    matrix.values.truncate(to * columns);
    matrix.known_at.truncate(to);
    matrix.dates.truncate(to);
    if (!matrix.instrument.empty())
        matrix.instrument.truncate(to);
    matrix.source.truncate(to);
    matrix.release(0, to);
}

/// Removes the rows with a value that is not finite, counts them and notes which features caused it.
/// `row_noun` is "session" or "bar". Throws Error (usage) if no row remains and `no_rows` is NoRows::refuse.
void drop_incomplete_rows(FeatureMatrix& matrix, const char* row_noun, const Workspace& workspace = {},
                          NoRows no_rows = NoRows::refuse);

} // namespace rekindle::market
