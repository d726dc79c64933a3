#pragma once
/// Code that the studies of verdicts share. It simulates series with and without an edge, and counts how many
/// of them are judged to have one: at most 6.4 % of the random walks, and at least 80 % of the planted edges.

#include "walk_forward/planted_rows.h"

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>

namespace rekindle::research::study {

/// A series with 8 features. The first one explains `r_squared` of the variance of the next return. Two
/// others are the previous two returns, because the features of real markets also depend on earlier outcomes.
inline ForecastRows series_of(std::size_t rows_of_a_series, std::uint64_t seed, double r_squared) {
    planted::PlantedRows series;
    series.rows = rows_of_a_series;
    series.columns = 8;
    series.r_squared = r_squared;
    series.seed = seed;
    ForecastRows rows = series.make();
    for (std::size_t row = 2; row < rows.known_at.size(); ++row)
        for (std::size_t lag = 1; lag <= 2; ++lag)
            rows.matrix.values[row * series.columns + series.columns - lag] =
                100 * static_cast<double>(rows.targets.values[row - lag]);
    return rows;
}

/// Returns whether the series with this seed and R² is judged to have an edge.
using Judge = std::function<bool(std::uint64_t seed, double r_squared)>;

inline double share_of_edges(const Judge& judge, std::size_t series, std::uint64_t first_seed,
                             double r_squared) {
    ThreadPool pool(0);
    std::atomic<std::size_t> edges{0};
    pool.for_each(series, [&](std::size_t i) {
        if (judge(first_seed + i, r_squared))
            ++edges;
    });
    return static_cast<double>(edges) / static_cast<double>(series);
}

/// The number that a program got as its `index`-th argument.
inline std::size_t argument(int count, char** arguments, int index, std::size_t otherwise) {
    return count > index ? static_cast<std::size_t>(std::strtoull(arguments[index], nullptr, 10)) : otherwise;
}

/// Prints how many random walks are judged to have an edge; false if they are too many. The first argument
/// of the program is their number. `what` says what is judged in each of them.
inline bool few_walks_have_an_edge(int count, char** arguments, const std::string& what, const Judge& judge) {
    constexpr double most_wrong = 0.064; ///< the 95 % bound for a test at 5 % on 1,000 series
    const std::size_t walks = argument(count, arguments, 1, 1000);
    const double wrong = share_of_edges(judge, walks, 1, 0);
    fmt::print("{} random walks, {}: {:.1f} % are judged to have an edge (at most {:.1f} %)\n", walks, what,
               100 * wrong, 100 * most_wrong);
    return wrong <= most_wrong;
}

/// Runs a study of random walks and planted edges, and returns its program's exit status. `arguments` are
/// those of the program: the number of random walks and the number of planted edges.
inline int run(int count, char** arguments, const std::string& what, const Judge& judge) {
    constexpr double least_found = 0.8, planted_r_squared = 0.05;
    const std::size_t planted = argument(count, arguments, 2, 200);
    const bool few = few_walks_have_an_edge(count, arguments, what, judge);
    const double found = share_of_edges(judge, planted, 1'000'000, planted_r_squared);
    fmt::print("{} planted edges of R² {:.0f} %, {}: {:.1f} % are found (at least {:.0f} %)\n", planted,
               100 * planted_r_squared, what, 100 * found, 100 * least_found);
    return few && found >= least_found ? EXIT_SUCCESS : EXIT_FAILURE;
}

} // namespace rekindle::research::study
