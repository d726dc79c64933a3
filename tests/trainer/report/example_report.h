#pragma once
/// A report with every part filled, from made-up figures. Deterministic.

#include <rekindle/base/philox.h>
#include <rekindle/trainer/report.h>

#include <algorithm>
#include <cmath>

namespace rekindle::trainer::fixtures {

inline double gaussian(PhiloxStream& random) {
    double sum = 0;
    for (int i = 0; i < 12; ++i)
        sum += random.next_double();
    return sum - 6;
}

inline ReportProfile example_profile(int day) {
    PhiloxStream random(5, RandomPurpose::test, 1, static_cast<std::uint64_t>(day));
    ReportProfile profile;
    profile.label = "2025-02-2" + std::to_string(day) + ", ESH5";
    for (int i = 0; i < 150; ++i) {
        const double price = 5900 + 0.25 * i + 8 * day;
        const double one = std::exp(-std::pow((i - 60.0) / 22, 2)),
                     two = std::exp(-std::pow((i - 110.0) / 14, 2));
        profile.prices.push_back(price);
        profile.volumes.push_back((14'000 * one + 7'000 * two + 300) * (0.8 + 0.4 * random.next_double()));
    }
    profile.point_of_control = 5915 + 8 * day;
    profile.value_area_low = 5908.25 + 8 * day;
    profile.value_area_high = 5928.5 + 8 * day;
    profile.close = 5922.75 + 8 * day;
    return profile;
}

inline ReportData example_report() {
    PhiloxStream random(5, RandomPurpose::test, 0, 0);
    ReportData data;
    data.title = "ES futures, daily sessions";
    data.run = "train_20250301_120005";
    data.finished = "2025-03-01 12:00:06 UTC";
    data.program = "rekindle 0.1.0";
    data.synthetic = true;
    data.target = "log return of the next session, close to close";
    data.target_unit = "%";
    data.loss_name = "Huber loss";
    for (int epoch = 1; epoch <= 30; ++epoch) {
        EpochMetrics metrics;
        metrics.epoch = epoch;
        metrics.epochs = 30;
        metrics.train_loss = 0.42 * std::exp(-epoch / 8.0) + 0.52 + 0.003 * gaussian(random);
        metrics.validation_loss =
            0.40 * std::exp(-epoch / 6.0) + 0.545 + 0.0016 * epoch + 0.003 * gaussian(random);
        metrics.accuracy = 0.51 + 0.012 * gaussian(random);
        double lowest = 1e9;
        for (const EpochMetrics& earlier : data.history)
            lowest = std::min(lowest, earlier.validation_loss);
        metrics.best = metrics.validation_loss < lowest;
        data.history.push_back(metrics);
    }
    for (int row = 0; row < 420; ++row) {
        data.predicted.push_back(0.12 * gaussian(random));
        data.actual.push_back(1.05 * gaussian(random) + 0.1 * data.predicted.back());
    }
    data.calibration_scale = 100;
    for (int bin = 0; bin < 10; ++bin)
        data.evaluation.calibration.push_back(
            {(-0.2 + 0.044 * bin) / 100, 0.06 * gaussian(random) / 100, 42});
    data.evaluation.rows = 420;
    data.evaluation.has_edge = false;
    data.evaluation.verdict = {
        "No edge",
        "the model does not predict the log return of the next session better than a return of zero",
        "squared error reduction 0.31 %."};
    data.evaluation.scores = {
        {"squared error reduction (out-of-sample R²)", "%", 0.31, {-1.4, 1.9}, 0, "a return of zero", true},
        {"mean absolute error", "%", 0.842, {0.78, 0.91}, 0.839, "a return of zero", false},
        {"direction hit rate", "%", 51.4, {46.7, 56.2}, 53.1, "always up, the training majority", true}};
    for (int day = 4; day < 7; ++day)
        data.profiles.push_back(example_profile(day));
    data.data = {{"bars", "1,140,000"},
                 {"span", "2022-01-03 to 2025-02-26 (UTC)"},
                 {"sessions", "812"},
                 {"tick", "0.25 points (inferred)"},
                 {"XXH3-128 of the input", "9f0c6a5d4e3b2a190817263544536271"}};
    data.tables = {
        {"Rolls",
         {"date", "from", "to", "gap (points)", "volume of the old"},
         {{"2024-12-16", "ESZ4", "ESH5", "61.25", "48 %"}, {"2025-03-17", "ESH5", "ESM5", "52.50", "49 %"}},
         "A contract is replaced in the first session in which the next one trades more."}};
    data.timings = {{"Reading bars", 0.21, "1,140,000 rows, 5.4 M rows/s"},
                    {"Profiles", 0.05, "812 sessions"},
                    {"Features", 0.006, "54 columns"},
                    {"Training", 0.14, "30 epochs, 3,060 steps"},
                    {"Report", 0.03, ""}};
    data.configuration = {{"batch_size", "32"},
                          {"clock", "utc"},
                          {"dropout_rate", "0.4"},
                          {"epochs", "30"},
                          {"hidden_layers", "128,64"},
                          {"learning_rate", "0.0005"},
                          {"seed", "42"}};
    data.warnings = {
        "The look-backs of the longest features need 50 sessions; the first 50 rows are omitted."};
    data.notes = {"A VIX column is present but unused; --features session,vix uses it."};
    return data;
}

} // namespace rekindle::trainer::fixtures
