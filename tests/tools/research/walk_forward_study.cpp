/// Measures how often walk-forward finds an edge, on random walks and on series with a planted edge.
///
///     rekindle_walk_forward_study [RANDOM_WALKS [PLANTED]]        (default 1,000 and 200)
///
/// In a random walk, returns are independent of the 8 features; two of these are the previous two returns, as
/// in real feature sets. In a planted series, the first feature explains 5 % of the variance of the next
/// return. Each series has 2,500 rows, with ten expanding windows after the first 1,000. Five networks of 16
/// units train for 5 epochs, and their mean is judged. Exits with status 1 if more than 6.4 % of the random
/// walks get the verdict "edge" (the upper end of the 95 % interval for a test at the 5 % level on 1,000
/// series) or if fewer than 80 % of the planted edges are found.

#include "study.h"

#include <fmt/format.h>

#include <limits>

namespace {

using namespace rekindle;
using namespace rekindle::research;

constexpr std::size_t rows_of_a_series = 2500, first_window = 1000, windows = 10;
constexpr std::int64_t networks = 5; ///< per window; their mean is judged

bool has_edge(std::uint64_t seed, double r_squared) {
    const ForecastRows rows = study::series_of(rows_of_a_series, seed, r_squared);
    trainer::TrainConfig config = research::planted::small_config();
    config.hidden_layers = {16};
    config.epochs = 5;
    config.population = networks;
    const auto folds =
        walk_forward_folds(rows.times(), rows.known_at.size(), {Window::expanding, windows, first_window});
    const FoldForecasts forecasts = research::planted::forecast_on_cpu(rows, folds, config);
    return evaluate_path(rows, forecasts.blocks, 0, std::numeric_limits<std::int64_t>::max(), seed).has_edge;
}

} // namespace

int main(int count, char** arguments) {
    return study::run(count, arguments, fmt::format("the mean of {} networks each", networks), has_edge);
}
