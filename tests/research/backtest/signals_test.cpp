/// Files of predictions and positions, and the rule that turns predictions into positions.

#include <rekindle/foundation/error.h>
#include <rekindle/research/signals.h>

#include <gtest/gtest.h>

#include <cmath>

namespace rekindle::research {
namespace {

constexpr std::int64_t hour = 3600;

std::string error_of(const auto& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.render();
    }
    return "accepted";
}

TradedSeries hourly_bars(std::size_t count) {
    TradedSeries series;
    series.contracts = {""};
    for (std::size_t i = 0; i < count; ++i) {
        const auto begin = static_cast<std::int64_t>(i) * hour;
        const double price = 100 + static_cast<double>(i);
        series.bars.push_back({.begin = begin,
                               .end = begin + hour,
                               .open = price,
                               .high = price,
                               .low = price,
                               .close = price});
    }
    return series;
}

TEST(Predictions, AreReadByTheNamesOfTheirColumns) {
    const auto rows = parse_predictions("\xef\xbb\xbfseed,prediction,known_at,outcome\r\n"
                                        "42,0.5,1970-01-01T01:00:00Z,\r\n"
                                        "\r\n"
                                        "42,,1970-01-01 02:00:00,1\r\n"
                                        "mean,\"-1e-3\",1970-01-02,0.25\r\n",
                                        "p.csv");
    ASSERT_EQ(rows.size(), 2u); // the row without a prediction is left out
    EXPECT_EQ(rows[0].known_at, hour);
    EXPECT_EQ(rows[0].seed, "42");
    EXPECT_TRUE(std::isnan(rows[0].outcome));
    EXPECT_EQ(rows[1].known_at, 24 * hour);
    EXPECT_EQ(rows[1].prediction, -1e-3);
}

TEST(Predictions, AreRefusedWithTheLine) {
    const auto parsed = [](const char* csv) { return error_of([&] { parse_predictions(csv, "p.csv"); }); };
    EXPECT_EQ(parsed(""), "p.csv: the file is empty, expected a header");
    EXPECT_TRUE(parsed("known_at,p\n").starts_with("p.csv:1: the column prediction is missing"));
    EXPECT_TRUE(parsed("known_at,prediction,prediction\n")
                    .starts_with("p.csv:1: the column prediction appears twice"));
    EXPECT_TRUE(parsed("known_at,prediction\n1970-01-01,1,2\n").starts_with("p.csv:2: 3 fields"));
    EXPECT_TRUE(parsed("known_at,prediction\n1970-01-01,x\n")
                    .starts_with("p.csv:2: prediction \"x\" is not a number"));
    EXPECT_TRUE(parsed("known_at,prediction\n1970-01-01,inf\n").starts_with("p.csv:2:"));
    for (const char* stamp :
         {"1970-13-01", "1970-01-01T25:00:00Z", "1970-01-01T01:00", "yesterday", "1970-01-01T01:00:00+01:00"})
        EXPECT_TRUE(parsed((std::string("known_at,prediction\n") + stamp + ",1\n").c_str())
                        .starts_with("p.csv:2: known_at"))
            << stamp;
    EXPECT_EQ(parsed("known_at,prediction\n"), "p.csv: the file has no predictions");
}

TEST(Predictions, OfSeveralSeriesNeedAChoice) {
    const auto rows = parse_predictions("known_at,instrument,fold,seed,prediction\n"
                                        "1970-01-01T02:00:00Z,ES,a,1,4\n"
                                        "1970-01-01T01:00:00Z,ES,a,1,1\n"
                                        "1970-01-01T01:00:00Z,ES,a,mean,2\n"
                                        "1970-01-01T02:00:00Z,ES,b,mean,5\n"
                                        "1970-01-01T01:00:00Z,NQ,a,2,3\n",
                                        "p.csv");
    const auto mean = select_predictions(rows, {});
    ASSERT_EQ(mean.size(), 2u);
    EXPECT_EQ(mean[0].prediction, 2);
    EXPECT_EQ(mean[1].prediction, 5);
    const auto one = select_predictions(rows, {.instrument = "", .fold = "", .seed = "1"});
    ASSERT_EQ(one.size(), 2u); // in chronological order
    EXPECT_EQ(one[0].prediction, 1);
    EXPECT_EQ(select_predictions(rows, {.instrument = "NQ", .fold = "", .seed = ""}).at(0).prediction, 3);
    EXPECT_TRUE(error_of([&] {
                    select_predictions(rows, {.instrument = "", .fold = "c", .seed = ""});
                }).starts_with("--fold: no prediction has the fold \"c\", expected one of a, b"));
    std::vector<PredictionRow> twice{{.known_at = 1, .instrument = "ES"},
                                     {.known_at = 1, .instrument = "NQ"}};
    EXPECT_TRUE(
        error_of([&] { select_predictions(twice, {}); }).ends_with("--predictions-of with one of ES, NQ"));
}

TEST(Predictions, OfProbabilitiesAreRecognized) {
    std::vector<PredictionRow> rows{{.prediction = 0.4, .outcome = 0},
                                    {.prediction = 1, .outcome = std::nan("")}};
    EXPECT_TRUE(are_probabilities(rows));
    rows[1].outcome = 0.5;
    EXPECT_FALSE(are_probabilities(rows));
    rows[1] = {.prediction = 1.1, .outcome = 1};
    EXPECT_FALSE(are_probabilities(rows));
    EXPECT_FALSE(are_probabilities(std::vector<PredictionRow>{{.prediction = 0.4, .outcome = std::nan("")}}));
}

std::vector<double> target_positions_of(const std::vector<Decision>& decisions) {
    std::vector<double> target_positions;
    for (const Decision& decision : decisions)
        target_positions.push_back(decision.target_position);
    return target_positions;
}

TEST(Predictions, BecomePositionsByTheRule) {
    const TradedSeries series = hourly_bars(20);
    std::vector<PredictionRow> rows;
    for (std::int64_t i = 0; i < 5; ++i)
        rows.push_back({.known_at = (i + 2) * hour,
                        .prediction = std::array{0.2, 0.3, 0.45, 0.7, 0.9}[static_cast<std::size_t>(i)]});
    const auto with = [&](const PredictionRule& rule) {
        return target_positions_of(decisions_from(rows, rule, series));
    };
    EXPECT_EQ(with({.center = 0.5}), (std::vector<double>{-1, -1, -1, 1, 1}));
    EXPECT_EQ(with({.center = 0.5, .threshold = 0.2}), (std::vector<double>{-1, 0, 0, 0, 1}));
    EXPECT_EQ(with({.center = 0.5, .direction = Direction::long_only}), (std::vector<double>{0, 0, 0, 1, 1}));
    EXPECT_EQ(with({.center = 0.5, .direction = Direction::short_only}),
              (std::vector<double>{-1, -1, -1, 0, 0}));
    const auto protectedly =
        decisions_from(rows, {.center = 0.5, .stop_loss = 0.1, .take_profit = 0.2}, series);
    EXPECT_DOUBLE_EQ(protectedly[0].stop_loss, 101 * 1.1); // short at the close of bar 1
    EXPECT_DOUBLE_EQ(protectedly[4].take_profit, 105 * 1.2);
    rows[0].known_at = -hour; // before the first bar
    EXPECT_EQ(with({}).size(), 4u);
}

TEST(Predictions, EndTheirPositionsAfterTheHoldingTime) {
    const TradedSeries series = hourly_bars(20);
    const std::vector<PredictionRow> rows{{.known_at = 2 * hour, .prediction = 1},
                                          {.known_at = 3 * hour, .prediction = 1},
                                          {.known_at = 9 * hour, .prediction = -1},
                                          {.known_at = 19 * hour, .prediction = 1}};
    const auto decisions = decisions_from(rows, {.hold = 2}, series);
    EXPECT_EQ(target_positions_of(decisions), (std::vector<double>{1, 1, 0, -1, 0, 1}));
    EXPECT_EQ(decisions[2].known_at, 5 * hour); // bars 3 and 4 were held
    EXPECT_EQ(decisions[4].known_at, 11 * hour);
    EXPECT_EQ(run_backtest(series, decisions, {}).position,
              (std::vector<double>{0, 0, 1, 1, 1, 0, 0, 0, 0, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Predictions, DecideTheSameOnTruncatedData) {
    const TradedSeries series = hourly_bars(40);
    std::vector<PredictionRow> rows;
    for (std::int64_t i = 0; i < 30; ++i)
        rows.push_back(
            {.known_at = (i + 2) * hour + (i % 3) * 600, .prediction = std::sin(static_cast<double>(i * i))});
    const PredictionRule rule{.threshold = 0.3, .stop_loss = 0.01, .take_profit = 0.02};
    const auto whole = decisions_from(rows, rule, series);
    for (std::size_t known = 1; known <= rows.size(); ++known) {
        TradedSeries cut = series;
        std::erase_if(cut.bars, [&](const TradedBar& bar) { return bar.end > rows[known - 1].known_at; });
        const auto decisions = decisions_from(std::span(rows).first(known), rule, cut);
        ASSERT_EQ(decisions.size(), known);
        const Decision &a = decisions.back(), &b = whole[known - 1];
        EXPECT_EQ(a.target_position, b.target_position);
        EXPECT_TRUE(a.stop_loss == b.stop_loss || (std::isnan(a.stop_loss) && std::isnan(b.stop_loss)));
        EXPECT_TRUE(a.take_profit == b.take_profit ||
                    (std::isnan(a.take_profit) && std::isnan(b.take_profit)));
    }
}

TEST(Positions, AreReadWithTheirOrders) {
    const auto positions = parse_positions("known_at,position,limit,stop,stop_loss,take_profit,comment\n"
                                           "1970-01-01T01:00:00Z,2,99.5,,98,105,x\n"
                                           "1970-01-01T02:00:00Z,-1.5,nan,101,NaN,,\n"
                                           "1970-01-01T03:00:00Z,0,,,,,\n",
                                           "p.csv");
    const std::vector<Decision>& decisions = positions.at("");
    ASSERT_EQ(decisions.size(), 3u);
    EXPECT_EQ(decisions[0].order, OrderKind::limit);
    EXPECT_EQ(decisions[0].price, 99.5);
    EXPECT_EQ(decisions[0].stop_loss, 98);
    EXPECT_EQ(decisions[0].take_profit, 105);
    EXPECT_EQ(decisions[1].order, OrderKind::stop);
    EXPECT_EQ(decisions[1].target_position, -1.5);
    EXPECT_EQ(decisions[2].order, OrderKind::market);
    const auto parsed = [](const char* csv) { return error_of([&] { parse_positions(csv, "p.csv"); }); };
    EXPECT_TRUE(parsed("known_at,position\n1970-01-02,1\n1970-01-01,1\n")
                    .starts_with("p.csv:3: the row is not later"));
    EXPECT_TRUE(parsed("known_at,position\n1970-01-02,\n").starts_with("p.csv:2: the position is missing"));
    EXPECT_TRUE(parsed("known_at,position,limit,stop\n1970-01-02,1,2,3\n")
                    .starts_with("p.csv:2: a limit and a stop"));
    EXPECT_EQ(parsed("known_at,position\n"), "p.csv: the file has no positions");
}

} // namespace
} // namespace rekindle::research
