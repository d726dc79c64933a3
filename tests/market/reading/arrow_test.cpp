#include "arrow_arrays.h"
#include "reading_support.h"

#include <rekindle/market/arrow_table.h>

#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <limits>
#include <string_view>

namespace rekindle::market {
namespace {

using test::ArrowColumn;
using test::ArrowRecord;
using test::fixed_column;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t march_first = 1'709'303'460; // 2024-03-01 14:31:00 UTC

/// Three bars of a minute; the columns are time, open, high, low, close, volume.
std::vector<ArrowColumn> three_bars() {
    const std::vector<double> closes{100.25, 100.5, 100.0};
    std::vector<ArrowColumn> columns;
    columns.push_back(
        fixed_column<std::int64_t>("time", "tss:UTC", {march_first, march_first + 60, march_first + 120}));
    for (const char* name : {"open", "high", "low", "close"})
        columns.push_back(fixed_column(name, "g", closes));
    columns.push_back(fixed_column<std::int32_t>("volume", "i", {10, 20, 30}));
    return columns;
}

ReadOptions options_of(const ArrowTable& table) {
    ReadOptions options;
    options.paths = {memory_path("bars")};
    options.tables.emplace(memory_path("bars"), table);
    options.tick = 0.25;
    return options;
}

ReadResult read_columns(std::vector<ArrowColumn> columns) {
    ArrowRecord record(std::move(columns), 3);
    return read_with(options_of(ArrowTable::read(record.schema(), record.array())));
}

/// The error from importing the columns after a change.
std::string error_after(const std::function<void(std::vector<ArrowColumn>&)>& change) {
    std::vector<ArrowColumn> columns = three_bars();
    change(columns);
    ArrowRecord record(std::move(columns), 3);
    try {
        ArrowTable::read(record.schema(), record.array());
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        return error.render();
    }
    return "";
}

TEST(Arrow, ATableInMemoryIsReadLikeAFile) {
    const ReadResult read = read_columns(three_bars());
    EXPECT_EQ(read.report.format, "Arrow table");
    const BarColumns& bars = read.bars.columns();
    EXPECT_THAT(bars.time, ElementsAre(march_first, march_first + 60, march_first + 120));
    EXPECT_THAT(bars.close, ElementsAre(401, 402, 400));
    EXPECT_THAT(bars.volume, ElementsAre(10, 20, 30));
}

TEST(Arrow, TextsDictionariesOffsetsAndNulls) {
    std::vector<ArrowColumn> columns = three_bars();
    columns[0] = {.format = "u", .name = "time", .length = 3, .offset = 1};
    columns[0]
        .without_buffer()
        .with<std::int32_t>({0, 1, 17, 33, 49})
        .with<char>({'?', '2', '0', '2', '4', '-', '0', '3', '-', '0', '1', ' ', '1', '4', ':', '3', '1',
                     '2', '0', '2', '4', '-', '0', '3', '-', '0', '1', ' ', '1', '4', ':', '3', '2', '2',
                     '0', '2', '4', '-', '0', '3', '-', '0', '1', ' ', '1', '4', ':', '3', '3'});
    columns[5] = {.format = "C", .name = "volume", .length = 3};
    columns[5].without_buffer().with<std::uint8_t>({1, 0, 1});
    columns[5].dictionary = std::make_unique<ArrowColumn>(fixed_column<std::int64_t>("", "l", {7, 1'000}));
    ArrowColumn note{.format = "l", .name = "note", .length = 3, .nulls = 3};
    note.with<std::uint8_t>({0}).with<std::int64_t>({1, 2, 3});
    columns.push_back(std::move(note));
    const ReadResult read = read_columns(std::move(columns));
    EXPECT_THAT(read.bars.columns().time, ElementsAre(march_first, march_first + 60, march_first + 120));
    EXPECT_THAT(read.bars.columns().volume, ElementsAre(1'000, 7, 1'000));
}

TEST(Arrow, ANullIsABadRow) {
    std::vector<ArrowColumn> columns = three_bars();
    columns[4].nulls = 1;
    columns[4].buffers[0] = std::make_unique<ArrowColumn::Buffer>(1, std::byte{0b101});
    try {
        read_columns(std::move(columns));
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.render(), HasSubstr("memory:bars:2:"));
    }
}

TEST(Arrow, BrokenRulesAreErrors) {
    const std::vector<std::pair<std::string, std::function<void(std::vector<ArrowColumn>&)>>> cases{
        {"column 6 (\"volume\"): it has 2 values, expected 3", [](auto& columns) { columns[5].length = 2; }},
        {"its length is 3, its offset -1", [](auto& columns) { columns[5].offset = -1; }},
        {"it has 1 buffer, expected 2", [](auto& columns) { columns[5].buffers.pop_back(); }},
        {"its buffer of values is missing", [](auto& columns) { columns[5].buffers[1].reset(); }},
        {"it has nulls but no validity buffer", [](auto& columns) { columns[5].nulls = 1; }},
        {"the text of row 2 ends at 3, before it begins",
         [](auto& columns) {
             columns[0] = {.format = "u", .name = "time", .length = 3};
             columns[0].without_buffer().template with<std::int32_t>({0, 4, 3, 5}).template with<char>({'a'});
         }},
        {"its first text begins at -4",
         [](auto& columns) {
             columns[0] = {.format = "U", .name = "time", .length = 3};
             columns[0]
                 .without_buffer()
                 .template with<std::int64_t>({-4, 0, 0, 0})
                 .template with<char>({'a'});
         }},
        {"the text of row 1 is outside of its buffers",
         [](auto& columns) {
             columns[0] = {.format = "vu", .name = "time", .length = 3};
             columns[0]
                 .without_buffer()
                 .template with<std::int32_t>({16, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0})
                 .template with<char>(std::vector<char>(20, '1'))
                 .template with<std::int64_t>({20});
         }},
        {"row 2 has index 2 in a dictionary with 2 entries",
         [](auto& columns) {
             columns[5] = fixed_column<std::int8_t>("volume", "c", {0, 2, 1});
             columns[5].dictionary =
                 std::make_unique<ArrowColumn>(fixed_column<std::int64_t>("", "l", {7, 8}));
         }},
        {"its indices into a dictionary have the format \"g\"",
         [](auto& columns) {
             columns[4].dictionary = std::make_unique<ArrowColumn>(fixed_column<std::int64_t>("", "l", {7}));
         }},
    };
    for (const auto& [expected, change] : cases)
        EXPECT_THAT(error_after(change), HasSubstr(expected));
}

TEST(Arrow, TheTableIsReleasedOnceAlsoAfterAnError) {
    ArrowRecord record(three_bars(), 3);
    bool released = false;
    {
        const ArrowTable table = ArrowTable::read(record.schema(), record.array(&released));
        const ArrowTable copy = table;
        EXPECT_EQ(copy.rows(), 3U);
        EXPECT_FALSE(released);
    }
    EXPECT_TRUE(released);

    std::vector<ArrowColumn> columns = three_bars();
    columns[5].offset = -1;
    ArrowRecord broken(std::move(columns), 3);
    released = false;
    EXPECT_THROW(ArrowTable::read(broken.schema(), broken.array(&released)), Error);
    EXPECT_TRUE(released);
}

TEST(Arrow, AStreamThatFailsSaysWhy) {
    ArrowArrayStream stream{};
    static int releases = 0;
    releases = 0;
    stream.get_schema = [](ArrowArrayStream*, ArrowSchema*) { return 5; };
    stream.get_last_error = [](ArrowArrayStream*) { return "the query failed"; };
    stream.release = [](ArrowArrayStream* released) {
        ++releases;
        released->release = nullptr;
    };
    try {
        ArrowTable::read(stream);
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.render(), HasSubstr("the query failed"));
    }
    EXPECT_EQ(releases, 1);
}

TEST(Arrow, OnlyTheNamedColumnsAreWritten) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<ArrowColumn> columns;
    columns.push_back(fixed_column<std::int64_t>("Known_At", "tss:UTC", {march_first, march_first + 60}));
    columns.push_back(fixed_column<double>("open", "g", {1, 2}));
    columns.push_back(fixed_column<double>("prediction", "g", {-1.5e-05, nan}));
    ArrowRecord record(std::move(columns), 2);
    const ArrowTable table = ArrowTable::read(record.schema(), record.array());
    constexpr std::array<std::string_view, 3> names{"known_at", "prediction", "missing"};
    EXPECT_EQ(csv_of(table, names), "Known_At,open,prediction\n"
                                    "2024-03-01 14:31:00Z,,-1.5e-05\n"
                                    "2024-03-01 14:32:00Z,,nan\n");
}

TEST(Arrow, APathOfATableInMemoryIsNotAFile) {
    ReadOptions options;
    options.paths = {memory_path("bars")};
    try {
        read_with(options);
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.render(), HasSubstr("came from a table in memory"));
    }
}

} // namespace
} // namespace rekindle::market
