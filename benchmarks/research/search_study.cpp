/// How often the best of 200 settings is called an edge where there is none, and where one is planted.
///
///     search_study [RANDOM_WALKS [PLANTED]]        (default 1,000 and 200)
///
/// Random walks: returns that are independent of 8 features, two of which are the last returns. Planted: the
/// first feature explains 5 % of the variance of the next return. Each series has 1,500 rows and four
/// expanding windows after the first 500; 200 settings (learning rate, weight decay, dropout) of a network of
/// 8 units train for 2 epochs, the one that saves the most loss is chosen, and it is judged among all. At
/// most 6.4 % of the verdicts on random walks may be "edge" (the 95 % bound of a test at 5 % in 1,000
/// series), and at least 80 % of the planted edges must be found; otherwise the program exits with status 1.

#include "search/judgment.h"
#include "search/trial_score.h"
#include "walk_forward/planted_rows.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <limits>

namespace {

using namespace rekindle;
using namespace rekindle::research;

constexpr std::size_t rows_of_a_series = 1500, first_window = 500, windows = 4, settings = 200;

ForecastRows series_of(std::uint64_t seed, double r_squared) {
    research::planted::PlantedRows series;
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

trainer::TrainConfig config_of(const SearchPoint& point) {
    trainer::TrainConfig config = research::planted::small_config();
    config.epochs = 2;
    config.learning_rate = point[0];
    config.weight_decay = point[1];
    config.dropout_rate = point[2];
    return config;
}

Trial trial_of(const ForecastRows& rows, const FoldBlock& block, const TestRows& scored,
               const SearchPoints& points, std::uint64_t number) {
    const trainer::TrainConfig config = config_of(points.at(number));
    std::vector<NetworkJob> jobs;
    std::vector<mlp::TrainingSpec> members;
    for (std::size_t f = 0; f < block.folds().size(); ++f) {
        const FoldRows& fold = block.folds()[f];
        jobs.push_back({f, trainer::training_spec(config, fold.meaning, fold.train.size(), 1)});
        members.push_back(jobs.back().training);
    }
    const auto model = trainer::network_of(config, rows.matrix.columns(), rows.meaning);
    const auto population = mlp::cpu_population(model, members, 1);
    const JobSettings job_settings{config.epochs, static_cast<std::size_t>(config.batch_size), 1, {}};
    const auto results = train_networks(
        *population, block, jobs, job_settings, [](std::uint64_t, std::uint64_t, double) {},
        CancellationToken());
    Trial trial;
    trial.number = number;
    score_trial(rows, scored, block, 1, *results, trial);
    return trial;
}

bool finds_edge(std::uint64_t seed, double r_squared) {
    const ForecastRows rows = series_of(seed, r_squared);
    ThreadPool pool(1);
    const auto folds =
        walk_forward_folds(rows.times(), rows.known_at.size(), {Window::expanding, windows, first_window});
    const FoldBlock block(rows, folds, pool);
    const TestRows scored = scored_test_rows(rows, folds, std::numeric_limits<std::int64_t>::max());
    const SearchPoints points({parse_dimension("learning-rate=1e-3..1e-1@log"),
                               parse_dimension("weight-decay=1e-4..1e-1@log"),
                               parse_dimension("dropout-rate=0..0.5")},
                              SearchMethod::sobol, seed);
    std::vector<Trial> trials;
    for (std::uint64_t t = 0; t < settings; ++t)
        trials.push_back(trial_of(rows, block, scored, points, t));
    std::vector<std::int64_t> instants;
    for (const std::size_t row : scored.row)
        instants.push_back(rows.known_at[row]);
    const std::vector<std::span<const std::int64_t>> of_trials(trials.size(), instants);
    const auto best = best_of(trials, Objective::loss);
    return best && has_edge(judge(trials, *best, of_trials, 1, seed));
}

double share_of_edges(std::size_t series, std::uint64_t first_seed, double r_squared) {
    ThreadPool pool(0);
    std::atomic<std::size_t> edges{0};
    pool.for_each(series, [&](std::size_t i) {
        if (finds_edge(first_seed + i, r_squared))
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
    fmt::print("{} random walks, the best of {} settings each: {:.1f} % have an edge (at most {:.1f} %)\n",
               walks, settings, 100 * wrong, 100 * most_wrong);
    const double found = share_of_edges(planted, 1'000'000, planted_r_squared);
    fmt::print("{} planted edges of R² {:.0f} %: {:.1f} % are found (at least {:.0f} %)\n", planted,
               100 * planted_r_squared, 100 * found, 100 * least_found);
    return wrong <= most_wrong && found >= least_found ? EXIT_SUCCESS : EXIT_FAILURE;
}
