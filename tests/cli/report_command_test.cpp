/// From bars to one report: train, walk-forward, search, backtest and report from the command line, on a CSV,
/// on a Parquet copy and on a SCID file of the same bars.

#include "process.h"

#include <rekindle/base/philox.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/parquet_writer.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstring>
#include <filesystem>

namespace rekindle::cli {
namespace {

namespace fs = std::filesystem;

constexpr int day_bars = 6;

/// Bars of the contract ESH5 every four hours, a random walk in steps of half a point.
struct Bars {
    std::vector<std::int64_t> begin;           ///< seconds since 1970 in UTC
    std::array<std::vector<double>, 4> prices; ///< open, high, low, close
    std::vector<double> volume;

    explicit Bars(int days) {
        PhiloxStream random(11, RandomPurpose::test);
        const auto step = [&] { return (static_cast<double>(random.next_below(9)) - 4) / 2; };
        double price = 4000;
        for (std::int32_t date = market::make_date(2023, 6, 5); days > 0; ++date) {
            if (market::is_weekend(date))
                continue;
            --days;
            for (int i = 0; i < day_bars; ++i) {
                const double open = price;
                price += step();
                begin.push_back(std::int64_t{86'400} * date + 14'400 * i);
                prices[0].push_back(open);
                prices[1].push_back(std::max(open, price) + std::abs(step()));
                prices[2].push_back(std::min(open, price) - std::abs(step()));
                prices[3].push_back(price);
                volume.push_back(100 + static_cast<double>(random.next_below(100)));
            }
        }
    }
};

std::string csv_of(const Bars& bars) {
    std::string text = "timestamp,open,high,low,close,volume,contract\n";
    for (std::size_t i = 0; i < bars.begin.size(); ++i)
        text +=
            fmt::format("{},{},{},{},{},{},ESH5\n", market::format_civil(bars.begin[i]), bars.prices[0][i],
                        bars.prices[1][i], bars.prices[2][i], bars.prices[3][i], bars.volume[i]);
    return text;
}

void write_parquet_of(const Bars& bars, const fs::path& path) {
    const std::vector<std::string> words{"ESH5"};
    const std::vector<std::uint32_t> indices(bars.begin.size(), 0);
    const std::array columns{market::ParquetColumn{"timestamp", market::ParquetInstants{bars.begin}},
                             market::ParquetColumn{"open", market::ParquetNumbers{bars.prices[0]}},
                             market::ParquetColumn{"high", market::ParquetNumbers{bars.prices[1]}},
                             market::ParquetColumn{"low", market::ParquetNumbers{bars.prices[2]}},
                             market::ParquetColumn{"close", market::ParquetNumbers{bars.prices[3]}},
                             market::ParquetColumn{"volume", market::ParquetNumbers{bars.volume}},
                             market::ParquetColumn{"contract", market::ParquetTexts{words, indices}}};
    market::write_parquet(path, columns);
}

template <class T>
void append(std::string& bytes, T value) {
    std::array<char, sizeof(T)> raw{};
    std::memcpy(raw.data(), &value, sizeof(T));
    bytes.append(raw.data(), raw.size());
}

/// Sierra Chart's format: docs/formats/scid-and-dbn.md.
std::string scid_of(const Bars& bars) {
    std::string bytes = "SCID";
    append<std::uint32_t>(bytes, 56);
    append<std::uint32_t>(bytes, 40);
    append<std::uint16_t>(bytes, 1);
    bytes.resize(56, '\0');
    const std::int64_t epoch = std::int64_t{86'400} * market::make_date(1899, 12, 30);
    for (std::size_t i = 0; i < bars.begin.size(); ++i) {
        append<std::int64_t>(bytes, (bars.begin[i] - epoch) * 1'000'000);
        for (const auto& prices : bars.prices)
            append<float>(bytes, static_cast<float>(prices[i]));
        append<std::uint32_t>(bytes, 1);
        append<std::uint32_t>(bytes, static_cast<std::uint32_t>(bars.volume[i]));
        append<std::uint32_t>(bytes, 0);
        append<std::uint32_t>(bytes, 0);
    }
    return bytes;
}

class ReportCommand : public ::testing::Test {
  protected:
    /// Runs the program in the test's folder and returns what it printed.
    std::string succeeds(const Words& arguments) const {
        const Finished finished = rekindle(arguments, {.folder = folder_.path()});
        EXPECT_EQ(finished.status, 0) << fmt::format("{}\n{}", fmt::join(arguments, " "), finished.errors);
        return finished.output;
    }
    std::string fails(const Words& arguments) const {
        const Finished finished = rekindle(joined({"report"}, arguments), {.folder = folder_.path()});
        EXPECT_EQ(finished.status, 2) << finished.output;
        EXPECT_EQ(finished.output, "");
        return finished.errors;
    }
    static Words reading(const std::string& data) {
        return {"--data", data, "--clock", "utc", "--stamp", "start", "--quiet"};
    }
    fs::path path(const std::string& name) const { return fs::path(folder_.path()) / name; }
    fs::path only_folder(const std::string& output, const std::string& prefix) const {
        for (const auto& entry : fs::directory_iterator(path(output)))
            if (entry.path().filename().string().starts_with(prefix))
                return entry.path();
        ADD_FAILURE() << "no " << prefix << " in " << output;
        return {};
    }
    void train(const std::string& data, const std::string& output) const {
        succeeds(joined(joined({"train"}, reading(data)), joined(small_, {"--output", output})));
    }
    /// train, walk-forward, search and backtest on a file, into the folder `output`.
    void run_all(const std::string& data, const std::string& output) const {
        const Words windows = joined(small_, {"--folds", "2", "--output", output});
        train(data, output);
        succeeds(joined(joined({"walk-forward"}, reading(data)), windows));
        succeeds(joined(joined({"search", "--vary", "learning-rate=0.0001|0.001"}, reading(data)), windows));
        succeeds(joined(joined({"backtest"}, reading(data)),
                        {"--predictions", (only_folder(output, "walk_forward_") / "predictions.csv").string(),
                         "--trials", "2", "--output", output + "/backtest"}));
    }
    const Words small_{"--epochs", "1",  "--hidden-layers", "4", "--features", "calendar,gap",
                       "--device", "cpu"};
    TemporaryFolder folder_;
};

TEST_F(ReportCommand, TellsTheStoryOfACsvAParquetAndAScidFile) {
    const Bars bars(160);
    folder_.file("bars.csv", csv_of(bars));
    write_parquet_of(bars, path("bars.parquet"));
    folder_.file("ESH5.scid", scid_of(bars));
    std::string verdict, predictions;
    for (const std::string file : {"bars.csv", "bars.parquet", "ESH5.scid"}) {
        SCOPED_TRACE(file);
        const std::string runs = file + "-runs", page = file + ".html";
        run_all(file, runs);
        const std::string output = succeeds({"report", runs, "--output", page});
        const std::string first = output.substr(0, output.find('\n'));
        EXPECT_TRUE(first.starts_with("No edge: ")) << output;
        EXPECT_TRUE(contains(output, "report: " + page)) << output;
        const std::string html = read_file(path(page));
        EXPECT_TRUE(contains(html, "<h1>ES (" + file + ")</h1>"));
        for (const char* stage :
             {"<h2>Training</h2>", "<h2>Walk-forward</h2>", "<h2>Search</h2>", "<h2>Backtest</h2>"})
            EXPECT_TRUE(contains(html, stage)) << stage;
        EXPECT_TRUE(contains(html, "href=\"" + runs + "/backtest/report.html\""));
        // The same bars give the same result, whatever the format.
        const std::string own = read_file(only_folder(runs, "walk_forward_") / "predictions.csv");
        EXPECT_EQ(own, predictions.empty() ? own : predictions);
        EXPECT_EQ(first, verdict.empty() ? first : verdict);
        predictions = own;
        verdict = first;
    }
    const std::string error = fails({"bars.csv-runs", "bars.parquet-runs"});
    EXPECT_TRUE(contains(error, "these runs read different data")) << error;
    EXPECT_TRUE(contains(error, "ES (bars.csv)") && contains(error, "ES (bars.parquet)")) << error;
}

TEST_F(ReportCommand, OpensOnlyWhatItCanRead) {
    folder_.file("bars.csv", csv_of(Bars(120)));
    train("bars.csv", "runs");
    const fs::path run = only_folder("runs", "train_");
    const nlohmann::json json = nlohmann::json::parse(succeeds({"report", "runs", "--format", "json"}));
    EXPECT_EQ(json.at("report"), "rekindle-report.html");
    EXPECT_EQ(json.at("has_edge"), false);
    EXPECT_EQ(json.at("stages").at(0).at("kind"), "training");
    EXPECT_TRUE(fs::exists(path("rekindle-report.html")));
    EXPECT_TRUE(contains(succeeds({"report", "runs", "--log-format", "json"}), "\"event\":\"result\""));

    EXPECT_TRUE(contains(fails({}), "RUN... is missing"));
    EXPECT_TRUE(contains(fails({"nowhere"}), "the folder does not exist"));
    EXPECT_TRUE(contains(fails({"runs", "--epochs", "3"}), "--epochs"));
    EXPECT_TRUE(contains(fails({"runs", "--format", "xml"}), "--format"));
    EXPECT_TRUE(contains(fails({"runs", "--output", (run / "report.html").string()}), "in another folder"));
    fs::remove(run / "report.json");
    EXPECT_TRUE(contains(fails({"runs"}), "rekindle train --resume-from-checkpoint runs/"))
        << fails({"runs"});
    // The command that the message recommends works.
    succeeds({"train", "--resume-from-checkpoint", run.string(), "--quiet"});
    succeeds({"report", "runs"});
}

} // namespace
} // namespace rekindle::cli
