/// How often walk-forward finds an edge where there is none, and where one is planted.
///
///     walk_forward_study [RANDOM_WALKS [PLANTED]]        (default 1,000 and 200)
///
/// Random walks: returns that are independent of 8 features; two of these are the last returns, as real
/// feature sets have. Planted: the first feature explains 5 % of the variance of the next return. Each series
/// has 2,500 rows and ten expanding windows after the first 1,000; five networks of 16 units train for 5
/// epochs, and their mean is judged. At most 6.4 % of the verdicts on random walks may be "edge" (the 95 %
/// bound of a test at 5 % in 1,000 series), and at least 80 % of the planted edges must be found; otherwise
/// the program exits with status 1.

#include "walk_forward/planted_rows.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <limits>

namespace {

using namespace rekindle;
using namespace rekindle::research;

constexpr std::size_t rows_of_a_series = 2500, first_window = 1000, windows = 10;
constexpr std::int64_t networks = 5; ///< in each window; their mean is judged

/// Makes two features the last returns: a market's features depend on earlier outcomes.
void use_last_returns(ForecastRows& rows) {
    const std::size_t columns = rows.matrix.columns();
    for (std::size_t row = 2; row < rows.known_at.size(); ++row)
        for (std::size_t lag = 1; lag <= 2; ++lag)
            rows.matrix.values[row * columns + columns - lag] =
                100 * static_cast<double>(rows.targets.values[row - lag]);
}

bool has_edge(std::uint64_t seed, double r_squared) {
    research::planted::PlantedRows series;
    series.rows = rows_of_a_series;
    series.columns = 8;
    series.r_squared = r_squared;
    series.seed = seed;
    ForecastRows rows = series.make();
    use_last_returns(rows);
    trainer::TrainConfig config = research::planted::small_config();
    config.hidden_layers = {16};
    config.epochs = 5;
    config.population = networks;
    const auto folds =
        walk_forward_folds(rows.times(), rows.known_at.size(), {Window::expanding, windows, first_window});
    const FoldForecasts forecasts = research::planted::forecast_on_cpu(rows, folds, config);
    return evaluate_path(rows, forecasts.blocks, 0, std::numeric_limits<std::int64_t>::max(), seed).has_edge;
}

double share_of_edges(std::size_t series, std::uint64_t first_seed, double r_squared) {
    ThreadPool pool(0);
    std::atomic<std::size_t> edges{0};
    pool.for_each(series, [&](std::size_t i) {
        if (has_edge(first_seed + i, r_squared))
            ++edges;
    });
    return static_cast<double>(edges) / static_cast<double>(series);
}

} // namespace

int main(int count, char** arguments) {
    const auto argument = [&](int index, std::size_t otherwise) {
        return count > index ? static_cast<std::size_t>(std::strtoull(arguments[index], nullptr, 10))
                             : otherwise;
    };
    constexpr double most_wrong = 0.064, least_found = 0.8, planted_r_squared = 0.05;
    const std::size_t walks = argument(1, 1000), planted = argument(2, 200);
    const double wrong = share_of_edges(walks, 1, 0);
    fmt::print("{} random walks: {:.1f} % have an edge (at most {:.1f} %)\n", walks, 100 * wrong,
               100 * most_wrong);
    const double found = share_of_edges(planted, 1'000'000, planted_r_squared);
    fmt::print("{} planted edges of R² {:.0f} %: {:.1f} % are found (at least {:.0f} %)\n", planted,
               100 * planted_r_squared, 100 * found, 100 * least_found);
    return wrong <= most_wrong && found >= least_found ? EXIT_SUCCESS : EXIT_FAILURE;
}
