#include "reading/parquet/value_decoder.h"
#include "table_files.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <gmock/gmock.h>

#include <set>

namespace rekindle::market {
namespace {

using ::testing::HasSubstr;

/// The Parquet files that make_tables.py wrote, without those whose content differs from bars.csv.
std::vector<std::string> equal_tables() {
    const std::set<std::string> others{"bytes-as-prices.parquet", "missing-volumes.parquet"};
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(table("")))
        if (const std::string name = entry.path().filename().string();
            entry.path().extension() == ".parquet" && !others.contains(name))
            names.push_back(name);
    return names;
}

TEST(Parquet, EveryEncodingAndCompressionGivesTheBarsOfTheCsv) {
    const auto names = equal_tables();
    ASSERT_GE(names.size(), 25U);
    for (const std::string& name : names) {
        SCOPED_TRACE(name);
        const ReadResult result = read_with(options_for(table(name)), 2);
        EXPECT_EQ(result.report.format, "Parquet");
        expect_bars_of_the_csv(result.bars);
        EXPECT_EQ(result.report.data_hash.hex(), hash128(read_file(table(name))).hex());
    }
}

TEST(Parquet, ContractsComeFromTheirColumnAndListsAreSkipped) {
    for (const std::string& name : equal_tables()) {
        if (!name.starts_with("contracts"))
            continue;
        SCOPED_TRACE(name);
        const ReadResult result = read_with(options_for(table(name)));
        EXPECT_EQ(result.report.contracts, (std::vector<ContractRows>{{"ES 03-24", 100}, {"ES 06-24", 100}}));
        EXPECT_THAT(result.report.notes, ::testing::Contains(HasSubstr("types that are not read")));
    }
}

// As NautilusTrader writes prices: the bytes of an integer, whose scale only its own reader knows.
TEST(Parquet, BytesWithoutATypeAreRefusedByName) {
    try {
        read_with(options_for(table("bytes-as-prices.parquet")));
        ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.message(), "the column open has values of 8 bytes without a type");
        EXPECT_THAT(error.advice(), HasSubstr("--columns"));
    }
}

TEST(Parquet, ColumnsCanBeChosenByPositionAndName) {
    ReadOptions options = options_for(table("contracts.parquet"));
    options.columns = "time=2,open=close,high=high,low=low,close=close,volume=volume";
    const ReadResult result = read_with(options);
    EXPECT_EQ(copy_of(result.bars.columns().open), copy_of(result.bars.columns().close));
}

TEST(Parquet, MissingValuesAreRejectedWithTheNumberOfTheirRow) {
    ReadOptions options = options_for(table("missing-volumes.parquet"));
    options.skip_bad_rows = true;
    const ReadResult result = read_with(options);
    ASSERT_EQ(result.rejected.size(), 29U); // rows 3, 10, 17 … from 0
    EXPECT_EQ(result.rejected[0].line, 4U);
    EXPECT_EQ(result.rejected[28].line, 200U);
    EXPECT_THAT(result.rejected[0].reason, HasSubstr("volume is missing"));
}

// As a signed integer of 32 bits, which is what DELTA_BINARY_PACKED stores, 3,000,000,000 is negative.
TEST(Parquet, UnsignedIntegersKeepTheirHighestBitInEveryEncoding) {
    parquet::Column column;
    column.physical = parquet::Physical::int32;
    column.logical = parquet::Logical::unsigned_integer;
    const std::string plain("\x00\x5E\xD0\xB2", 4);
    // Blocks of 128 in 4 parts, 1 value, and -1,294,967,296 in zigzag coding.
    const std::string deltas("\x80\x01\x04\x01"
                             "\xFF\x87\xFD\xD2\x09");
    for (const auto& [encoding, bytes] : {std::pair(parquet::Encoding::plain, plain),
                                          std::pair(parquet::Encoding::delta_binary_packed, deltas)}) {
        parquet::Value value;
        parquet::make_decoder(column, encoding, bytes, 1)->read({&value, 1});
        EXPECT_EQ(value.bits, 3'000'000'000U) << static_cast<int>(encoding);
    }
}

TEST(Parquet, MemoryBoundedReadingGivesTheSameBars) {
    const TestFolder folder;
    ReadOptions options = options_for(table("pages-v2.parquet"));
    const ReadResult whole = read_with(options);
    options.chunk_size = 16;
    options.column_file = folder.path() / "bars.rkbars";
    expect_same_bars(read_with(options).bars, whole.bars);
}

TEST(Parquet, AFileCutOffAnywhereIsAnErrorThatSaysSo) {
    const std::string content = read_file(table("codec-zstd.parquet"));
    for (std::size_t size = 4; size < content.size(); size += 131)
        EXPECT_THAT(error_of(content.substr(0, size), {}, "bars.parquet"),
                    HasSubstr("bars.parquet: the Parquet file is damaged"))
            << size;
}

TEST(Parquet, DamagedPagesAreFoundByTheirChecksum) {
    std::string content = read_file(table("pages-v1-crc.parquet"));
    content[200] = static_cast<char>(content[200] ^ 0x10);
    EXPECT_THAT(error_of(content, {}, "bars.parquet"), HasSubstr("wrong checksum"));
}

TEST(Parquet, NoDamageGivesMoreRowsOrAnInternalError) {
    for (const char* name : {"split-and-delta.parquet", "contracts-delta-byte-array.parquet",
                             "pages-v2.parquet", "codec-snappy.parquet"}) {
        const std::string content = read_file(table(name));
        for (std::size_t at = 4; at < content.size(); at += 67) {
            std::string damaged = content;
            damaged[at] = static_cast<char>(damaged[at] + 1 + static_cast<int>(at % 250));
            ReadOptions options;
            options.skip_bad_rows = true;
            const TestFolder folder;
            options.paths = {folder.write("bars.parquet", damaged)};
            try {
                EXPECT_LE(read_with(options).report.rows, 200U);
            } catch (const Error& error) {
                EXPECT_EQ(error.status(), ExitStatus::usage) << name << " " << at << error.render();
            }
        }
    }
}

} // namespace
} // namespace rekindle::market
