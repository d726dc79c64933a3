/// Compares written files with the golden file that check_parquet.py reads with pyarrow.

#include "reading/parquet/metadata.h"
#include "temporary_folder.h"

#include <rekindle/foundation/environment.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/parquet_writer.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace rekindle::market {
namespace {

/// The table that check_parquet.py expects.
struct Table {
    explicit Table(std::size_t rows) {
        for (std::size_t i = 0; i < rows; ++i) {
            const auto n = static_cast<std::int64_t>(i);
            instants.push_back(-3600 + 60 * n);
            dates.push_back(static_cast<std::int32_t>(n - 1));
            numbers.push_back(i % 3 == 1 ? std::numeric_limits<double>::quiet_NaN()
                                         : 0.1 * static_cast<double>(n));
            words.push_back(static_cast<std::uint32_t>(i % 3));
        }
    }
    std::array<ParquetColumn, 5> columns() const {
        return {{{"instant", ParquetInstants{instants, true}},
                 {"label", ParquetInstants{instants, false}},
                 {"date", ParquetDates{dates}},
                 {"number", ParquetNumbers{numbers}},
                 {"text", ParquetTexts{names, words}}}};
    }
    std::vector<std::int64_t> instants;
    std::vector<std::int32_t> dates;
    std::vector<double> numbers;
    std::vector<std::string> names{"ES", "", "größer, \"x\""};
    std::vector<std::uint32_t> words;
};

std::string written(const Table& table) {
    const test::TemporaryFolder folder;
    write_parquet(folder / "table.parquet", table.columns());
    return read_file(folder / "table.parquet");
}

std::filesystem::path golden() {
    return std::filesystem::path(REKINDLE_TEST_DATA) / "writing" / "table.parquet";
}

TEST(ParquetWriter, WritesTheBytesThatPyarrowReads) {
    const std::string bytes = written(Table(20));
    if (switched_on("REKINDLE_RENEW_GOLDEN"))
        write_file_atomically(golden(), bytes);
    EXPECT_EQ(bytes, read_file(golden()));
}

TEST(ParquetWriter, SplitsRowsIntoGroups) {
    const std::string bytes = written(Table(150'000));
    const parquet::FileMetadata metadata = parquet::read_metadata(bytes);
    EXPECT_EQ(metadata.rows, 150'000);
    ASSERT_EQ(metadata.groups.size(), 3U);
    EXPECT_EQ(metadata.groups[0].rows, 65'536);
    EXPECT_EQ(metadata.groups[2].rows, 150'000 - 2 * 65'536);
    ASSERT_EQ(metadata.columns.size(), 5U);
    EXPECT_EQ(metadata.columns[0].logical, parquet::Logical::timestamp);
    EXPECT_TRUE(metadata.columns[0].utc);
    EXPECT_FALSE(metadata.columns[1].utc);
    EXPECT_EQ(metadata.columns[2].logical, parquet::Logical::date);
    EXPECT_TRUE(metadata.columns[3].optional);
    EXPECT_EQ(metadata.columns[4].logical, parquet::Logical::text);
}

TEST(ParquetWriter, WritesATableWithoutRows) {
    const std::string bytes = written(Table(0));
    EXPECT_EQ(parquet::read_metadata(bytes).rows, 0);
    EXPECT_EQ(parquet::read_metadata(bytes).columns.size(), 5U);
}

TEST(ParquetWriter, RefusesColumnsOfDifferentLengths) {
    Table table(3);
    table.dates.pop_back();
    EXPECT_THROW(written(table), Error);
}

} // namespace
} // namespace rekindle::market
