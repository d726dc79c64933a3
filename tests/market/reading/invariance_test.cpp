#include "reading_support.h"

#include <rekindle/foundation/file.h>
#include <rekindle/market/column_file.h>
#include <rekindle/market/simulate.h>

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace rekindle::market {
namespace {

void expect_same_result(const ReadResult& a, const ReadResult& b) {
    expect_same_bars_and_vix(a.bars, b.bars);
    EXPECT_EQ(a.report.contracts, b.report.contracts);
    EXPECT_EQ(a.report.notes, b.report.notes);
}

// The simulator provides both a file with several contracts and the expected table.
TEST(ReadBarsInvariance, ReadsTheSimulatorsFile) {
    const SimulateOptions options{.bars = 120'000, .seed = 5};
    const BarTable expected = simulate_table(options);
    const ReadResult result = read_text(simulated_text(options.bars));
    expect_same_bars(result.bars, expected);
    EXPECT_THAT(result.report.notes, testing::Contains(testing::HasSubstr("synthetic")));
}

TEST(ReadBarsInvariance, ThreadsChunksAndCompressionChangeNothing) {
    const TestFolder folder;
    const std::string text = simulated_text(20'000);
    const auto plain = folder.write("bars.csv", text);
    const auto gz = folder.write("bars.csv.gz", packed(text));
    ReadOptions options = options_for(plain);
    const ReadResult expected = read_with(options);
    for (const std::size_t threads : {2u, 5u})
        expect_same_result(read_with(options, threads), expected);
    for (const std::size_t chunk : {7u, 1000u, 1'000'000u}) {
        options.chunk_size = chunk;
        options.column_file = folder.path() / "bars.columns";
        const ReadResult result = read_with(options, 2);
        expect_same_result(result, expected);
        EXPECT_EQ(result.report.data_hash, expected.report.data_hash);
        expect_same_bars(open_column_file(options.column_file), expected.bars);
    }
    options = options_for(gz);
    std::vector<std::string> notes = expected.report.notes;
    const ReadResult unpacked = read_with(options, 2);
    expect_same_bars(unpacked.bars, expected.bars);
    EXPECT_EQ(unpacked.report.data_hash, hash128(read_file(gz)));
    EXPECT_EQ(expected.report.data_hash, hash128(text));
}

TEST(ReadBarsInvariance, ChunksOfOneBar) {
    const TestFolder folder;
    ReadOptions options = options_for(folder.write("bars.csv", simulated_text(300)));
    const ReadResult expected = read_with(options);
    options.chunk_size = 1;
    options.column_file = folder.path() / "bars.columns";
    expect_same_result(read_with(options), expected);
}

// Overlapping contracts in separate files: merging on disk gives the same result as merging in memory.
TEST(ReadBarsInvariance, MergingOnDiskEqualsMergingInMemory) {
    const TestFolder folder;
    const std::string header = "time,open,high,low,close,volume,contract\n";
    for (const auto& [name, first] : {std::pair{"B", 40}, {"A", 0}, {"C", 41}}) {
        std::string text = header;
        for (int minute = first; minute < first + 500; minute += name[0] == 'C' ? 1 + minute / 7 % 3 : 1) {
            char row[96];
            std::snprintf(row, sizeof row, "2024-12-12 %02d:%02d:00,1%d,200,1,1%d,%d,%s\n", minute / 60,
                          minute % 60, minute % 10, minute % 7, minute, name);
            text += row;
        }
        folder.write(std::string(name) + ".csv", text);
    }
    ReadOptions options = options_for(folder.path());
    options.tick = 1;
    const ReadResult expected = read_with(options);
    ASSERT_EQ(expected.bars.size(), 500u + 500u + 310u);
    const BarColumns bars = expected.bars.columns();
    for (std::size_t i = 1; i < bars.size(); ++i)
        ASSERT_TRUE(bars.time[i - 1] < bars.time[i] ||
                    (bars.time[i - 1] == bars.time[i] && bars.contract[i - 1] < bars.contract[i]));
    options.chunk_size = 10;
    options.column_file = folder.path() / "bars.columns";
    expect_same_result(read_with(options, 3), expected);
}

// Errors have the line number in the whole file, regardless of the thread that found them.
TEST(ReadBarsInvariance, LineNumbersUnderParallelParsing) {
    const TestFolder folder;
    std::string text = simulated_text(30'000);
    std::vector<std::uint64_t> lines;
    std::uint64_t line = 0;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
        if (++line > 2 && line % 1777 == 0) {
            text[at] = 'x';
            lines.push_back(line);
        }
    ReadOptions options = options_for(folder.write("bars.csv", text));
    options.skip_bad_rows = true;
    for (const std::size_t threads : {1u, 4u}) {
        const ReadResult result = read_with(options, threads);
        std::vector<std::uint64_t> seen;
        for (const RejectedRow& row : result.rejected)
            seen.push_back(row.line);
        EXPECT_EQ(seen, lines);
    }
}

TEST(ReadBarsInvariance, GzipCutAnywhereIsAnError) {
    const std::string whole = packed(simulated_text(500));
    for (std::size_t size = 3; size < whole.size(); size += 97)
        EXPECT_THAT(error_of(whole.substr(0, size), {}, "a.csv.gz"), testing::HasSubstr("cut short")) << size;
    EXPECT_THAT(error_of(whole + "rest", {}, "a.csv.gz"),
                testing::HasSubstr("unexpected bytes follow the gzip data"));
    EXPECT_EQ(read_text(packed("time,open,high,low,close,volume\n2024-12-12 05:01:00,1,1,1,1,1\n2024-12") +
                        packed("-12 05:02:00,1,1,1,1,1\n"))
                  .bars.size(),
              2u)
        << "two members form one text";
}

TEST(ReadBarsInvariance, ProgressEndsAtAllBytesAndCancellationStops) {
    const TestFolder folder;
    const std::string text = simulated_text(2000);
    const ReadOptions options = options_for(folder.write("bars.csv", text));
    ThreadPool pool(1);
    NullLogSink log;
    CancellationToken cancel;
    std::uint64_t last = 0;
    read_bars(options, pool, log, cancel, [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_GE(done, last);
        EXPECT_EQ(total, text.size());
        last = done;
    });
    EXPECT_EQ(last, text.size());
    cancel.request();
    try {
        read_bars(options, pool, log, cancel);
        FAIL() << "the cancellation was ignored";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::interrupted);
    }
}

} // namespace
} // namespace rekindle::market
