/// Finds the instruments in files; reading one of them alone must equal reading a file that holds nothing
/// else.

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/find_instruments.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <temporary_folder.h>
#include <tuple>
#include <vector>

namespace rekindle::market {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

constexpr const char* header = "timestamp,open,high,low,close,volume,symbol\n";

std::string row(int minute, const std::string& symbol, double price) {
    char text[160];
    std::snprintf(text, sizeof text, "2024-03-15T14:%02d:00Z,%.2f,%.2f,%.2f,%.2f,10,%s\n", minute, price,
                  price, price, price, symbol.c_str());
    return text;
}

class FindInstruments : public ::testing::Test {
  protected:
    fs::path write(const std::string& name, const std::string& text) {
        write_file_atomically(folder_ / name, text);
        return folder_ / name;
    }
    std::vector<InstrumentFiles> find(const std::vector<fs::path>& paths, InstrumentsBy by,
                                      const std::string& contract = "all") {
        ReadOptions options;
        options.paths = paths;
        options.contract = contract;
        return find_instruments(options, by, pool_, CancellationToken());
    }
    ReadResult read(const ReadOptions& options) {
        NullLogSink log;
        return read_bars(options, pool_, log, CancellationToken());
    }
    static Names names(const std::vector<InstrumentFiles>& found) {
        Names list;
        for (const InstrumentFiles& one : found)
            list.push_back(one.name);
        return list;
    }
    std::string error(const std::vector<fs::path>& paths, const std::string& contract = "all") {
        try {
            find(paths, InstrumentsBy::name, contract);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            return error.render();
        }
        return "no error";
    }

    ThreadPool pool_{2};
    test::TemporaryFolder folder_;
};

TEST_F(FindInstruments, GroupsContractsByTheirRoot) {
    std::string text = header;
    int minute = 0;
    for (const char* symbol : {"NQH4", "ESH4", "ESM4", "ES1!", "ES2!", "US500", "US30", "BRK.B"})
        text += row(++minute, symbol, 100);
    const fs::path file = write("symbols.csv", text);
    const auto by_root = find({file}, InstrumentsBy::root);
    EXPECT_EQ(names(by_root), (Names{"BRK.B", "ES", "NQ", "US30", "US500"}));
    EXPECT_EQ(by_root[1].contracts, (Names{"ES1!", "ES2!", "ESH4", "ESM4"}));
    EXPECT_EQ(names(find({file}, InstrumentsBy::name)),
              (Names{"BRK.B", "ES1!", "ES2!", "ESH4", "ESM4", "NQH4", "US30", "US500"}));
}

TEST_F(FindInstruments, TakesNamesFromColumnsAndFromFiles) {
    const fs::path column =
        write("symbols.csv", std::string(header) + row(1, "MSFT", 400) + row(2, "AAPL", 170));
    const std::string plain = "timestamp,open,high,low,close,volume\n2024-03-15T14:01:00Z,1,2,1,2,10\n"
                              "2024-03-15T14:02:00Z,1,2,1,2,10\n";
    const fs::path contract = write("ES 03-25.csv", plain);
    const fs::path first = write("TSLA-2023.csv", plain);
    const fs::path second = write("TSLA-2024.csv", "timestamp,open,high,low,close,volume\n"
                                                   "2024-03-15T14:03:00Z,2,2,1,2,10\n");
    const auto found = find({second, column, contract, first}, InstrumentsBy::root);
    EXPECT_EQ(names(found), (Names{"AAPL", "ES", "MSFT", "TSLA"}));
    EXPECT_EQ(found[0].files, (std::vector<fs::path>{column}));
    EXPECT_EQ(found[1].contracts, (Names{"ES 03-25"}));
    EXPECT_EQ(found[3].files, (std::vector<fs::path>{second, first}));
    EXPECT_TRUE(found[3].contracts.empty());
    const auto chosen = find({second, column, contract, first}, InstrumentsBy::root, "TSLA,MSFT");
    EXPECT_EQ(names(chosen), (Names{"MSFT", "TSLA"}));
    ReadOptions options;
    options.contract = "TSLA,MSFT";
    EXPECT_EQ(read(chosen[1].options(options)).bars.metadata().contracts, (Names{""}));
}

TEST_F(FindInstruments, RefusesFilesThatDoNotSay) {
    const fs::path file =
        write("2024.csv", "timestamp,open,high,low,close,volume\n2024-03-15T14:01:00Z,1,2,1,2,9\n");
    EXPECT_NE(error({file}).find("neither the bars nor the name of this file say which instrument"),
              std::string::npos);
    EXPECT_NE(error({write("a.csv", std::string(header) + row(1, "MSFT", 400))}, "AAPL")
                  .find("the beginning of one of: MSFT"),
              std::string::npos);
}

/// Covers interleaved rows, quotes, and a name that is the beginning of another.
TEST_F(FindInstruments, OneInstrumentReadAloneEqualsItsOwnFile) {
    std::string joint = header, a = header, ab = header;
    for (int minute = 0; minute < 59; ++minute) {
        const std::string of_a = row(minute, "A", 100 + minute / 4.0);
        const std::string of_ab = row(minute, minute % 2 == 0 ? "AB" : "\"AB\"", 50 + minute / 100.0);
        joint += minute % 3 == 0 ? of_ab + of_a : of_a + of_ab;
        a += of_a;
        ab += of_ab;
    }
    ReadOptions options;
    options.paths = {write("joint.csv", joint)};
    const auto found = find_instruments(options, InstrumentsBy::name, pool_, CancellationToken());
    ASSERT_EQ(names(found), (Names{"A", "AB"}));
    for (const auto& [instrument, text, tick] :
         {std::tuple{found[0], a, 0.25}, std::tuple{found[1], ab, 0.01}}) {
        options.paths = {write("alone.csv", text)};
        const ReadResult alone = read(options);
        ReadOptions joint_options;
        joint_options.paths = {folder_ / "joint.csv"};
        const ReadResult own = read(instrument.options(joint_options));
        EXPECT_EQ(own.report.tick.points, tick);
        EXPECT_EQ(own.bars.metadata().contracts, alone.bars.metadata().contracts);
        const auto x = own.bars.columns(), y = alone.bars.columns();
        ASSERT_EQ(x.size(), y.size());
        EXPECT_TRUE(std::ranges::equal(x.time, y.time));
        EXPECT_TRUE(std::ranges::equal(x.close, y.close));
        EXPECT_TRUE(std::ranges::equal(x.volume, y.volume));
    }
}

} // namespace
} // namespace rekindle::market
