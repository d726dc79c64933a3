#include "table_files.h"

#include <rekindle/foundation/file.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

namespace rekindle::market {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// Damages every 61st byte in turn; nothing but bars or an error about the input may come of it.
void expect_no_internal_error(const std::string& name) {
    const std::string content = read_file(table(name));
    for (std::size_t at = 4; at < content.size(); at += 61) {
        std::string damaged = content;
        damaged[at] = static_cast<char>(damaged[at] + 1 + static_cast<int>(at % 250));
        ReadOptions options;
        options.skip_bad_rows = true;
        const TestFolder folder;
        options.paths = {folder.write(name, damaged)};
        try {
            EXPECT_LE(read_with(options).report.rows, 200U);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage) << name << " " << at << error.render();
        }
    }
}

TEST(Dbn, VersionsOneToThreeGiveTheBarsOfTheCsv) {
    for (const char* name : {"v1.dbn", "v2.dbn", "v3.dbn", "v3.dbn.zst"}) {
        SCOPED_TRACE(name);
        const ReadResult result = read_with(options_for(table(name)));
        expect_bars_of_the_csv(result.bars, StampAt::bar_start);
        EXPECT_EQ(result.report.stamps.at, StampAt::bar_start);
        EXPECT_THAT(result.report.format, HasSubstr("Databento DBN"));
        EXPECT_EQ(result.report.contracts, (std::vector<ContractRows>{{"ESH4", 100}, {"ESM4", 100}}));
        EXPECT_EQ(result.report.data_hash.hex(), hash128(read_file(table(name))).hex());
    }
}

// The bars are 1 minute long, as the schema says, even where the file does not show it.
TEST(Dbn, ASingleBarHasTheLengthOfItsSchema) {
    const std::string content = read_file(table("v3.dbn"));
    const ReadResult whole = read_with(options_for(table("v3.dbn")));
    constexpr std::size_t record = 56;
    std::size_t metadata = content.size() % record; // what precedes the records, which have one size
    while (metadata <
           8 + static_cast<unsigned char>(content[4]) + 256U * static_cast<unsigned char>(content[5]))
        metadata += record;
    const ReadResult one = read_text(content.substr(0, metadata + record), {}, "one.dbn");
    ASSERT_EQ(one.bars.size(), 1U);
    EXPECT_EQ(one.bars.metadata().bar_seconds, 60);
    EXPECT_EQ(one.bars.columns().time[0], whole.bars.columns().time[0]);
    std::string thinned = content.substr(0, metadata); // every 30th bar
    for (std::size_t at = metadata; at < content.size(); at += 30 * record)
        thinned += content.substr(at, record);
    const ReadResult sparse = read_text(thinned, {}, "sparse.dbn");
    EXPECT_EQ(sparse.bars.metadata().bar_seconds, 60);
    EXPECT_EQ(sparse.bars.columns().time[0], whole.bars.columns().time[0]);
}

// All bits set means that Databento does not know the time. The other value exceeds 63 bits.
TEST(Dbn, UndefinedTimesAreBadRows) {
    std::string content = read_file(table("v3.dbn"));
    const std::size_t last_record = content.size() - 56;
    for (const std::string& time : {std::string(8, '\xFF'), std::string(7, '\0') + '\x80'}) {
        content.replace(last_record + 8, 8, time);
        EXPECT_THAT(error_of(content, {}, "b.dbn"), HasSubstr("time"));
    }
}

TEST(Dbn, OtherSchemasAreNamed) {
    EXPECT_THAT(error_of(read_file(table("trades.dbn")), {}, "t.dbn"), HasSubstr("which are not bars"));
}

TEST(Dbn, AFileCutOffAnywhereIsAnErrorThatSaysSo) {
    const std::string content = read_file(table("v3.dbn"));
    for (std::size_t size = 5; size < content.size(); size += 97)
        if ((content.size() - size) % 56 != 0) {
            EXPECT_THAT(error_of(content.substr(0, size), {}, "b.dbn"), HasSubstr("b.dbn: the DBN file "))
                << size;
        }
}

TEST(Dbn, DamageIsNoInternalError) {
    expect_no_internal_error("v1.dbn");
    expect_no_internal_error("v3.dbn.zst");
}

TEST(Scid, BarsAndTradesGiveTheBarsOfTheCsv) {
    const ReadResult bars = read_with(options_for(table("bars.scid")));
    expect_bars_of_the_csv(bars.bars, StampAt::bar_start);
    const ReadResult trades = read_with(options_for(table("trades.scid.zst")));
    expect_bars_of_the_csv(trades.bars, StampAt::bar_start);
    EXPECT_THAT(trades.report.notes, Contains(HasSubstr("single trades, which were added up")));
}

/// Older versions of Sierra Chart wrote days as a double instead of microseconds.
TEST(Scid, TimesInDaysGiveTheSameBars) {
    constexpr std::size_t header = 56, record = 40, first_in_utc = 16;
    std::string content = read_file(table("bars.scid"));
    for (std::size_t at = header; at < content.size(); at += record) {
        std::int64_t microseconds = 0;
        std::memcpy(&microseconds, &content[at], sizeof microseconds);
        const double days = static_cast<double>(microseconds) / (86'400 * 1e6);
        std::memcpy(&content[at], &days, sizeof days);
    }
    const TestFolder folder;
    expect_bars_of_the_csv(read_with(options_for(folder.write("old.scid", content))).bars,
                           StampAt::bar_start);
    content[first_in_utc] = 7;
    EXPECT_THAT(error_of(content, {}, "b.scid"), HasSubstr("the first 7 records"));
    content[first_in_utc] = 0;
    std::fill_n(content.begin() + header + record, 8, '\1');
    EXPECT_THAT(error_of(content, {}, "b.scid"), HasSubstr("times of two kinds"));
}

TEST(Scid, TheFormatDecidesAgainstTheOption) {
    ReadOptions options = options_for(table("bars.scid"));
    options.stamp = StampAt::bar_end;
    expect_bars_of_the_csv(read_with(options).bars, StampAt::bar_start);
}

TEST(Scid, FilesOfAnotherStampConventionMustSaySo) {
    const TestFolder folder;
    ReadOptions options = options_for(table("bars.scid"));
    options.paths.push_back(folder.write("bars.csv", bars_header + "2024-03-14 13:31:00Z,1,1,1,1,1\n"));
    EXPECT_THROW(read_with(options), Error);
}

TEST(Scid, TheContractComesFromTheNameOfTheFile) {
    const TestFolder folder;
    for (const char* name : {"ESH24_FUT_CME.scid", "ESH24.CME.scid"}) {
        const auto path = folder.write(name, read_file(table("bars.scid")));
        EXPECT_EQ(read_with(options_for(path)).report.contracts, (std::vector<ContractRows>{{"ESH24", 200}}));
    }
}

TEST(Scid, CutAndDamagedFilesAreErrors) {
    const std::string content = read_file(table("bars.scid"));
    EXPECT_THAT(error_of(content.substr(0, content.size() - 3), {}, "b.scid"),
                HasSubstr("ends within a record"));
    EXPECT_THAT(error_of(content.substr(0, 30), {}, "b.scid"), HasSubstr("header of another kind"));
    expect_no_internal_error("bars.scid");
}

TEST(PackedText, ZstdAndZipGiveTheBarsOfTheCsv) {
    for (const char* name : {"bars.csv.zst", "bars.csv.zip", "stored.csv.zip"}) {
        SCOPED_TRACE(name);
        const ReadResult result = read_with(options_for(table(name)), 2);
        expect_bars_of_the_csv(result.bars);
        EXPECT_EQ(result.report.data_hash.hex(), hash128(read_file(table(name))).hex());
        expect_no_internal_error(name);
    }
}

TEST(PackedText, CutFilesAreErrors) {
    const std::string zstd = read_file(table("bars.csv.zst"));
    EXPECT_THAT(error_of(zstd.substr(0, zstd.size() - 5), {}, "b.csv.zst"),
                HasSubstr("zstd file is cut short"));
    const std::string zip = read_file(table("bars.csv.zip"));
    EXPECT_THAT(error_of(zip.substr(0, zip.size() - 30), {}, "b.zip"),
                HasSubstr("the zip archive is damaged"));
}

TEST(PackedText, AWrongChecksumInAnArchiveIsAnError) {
    std::string zip = read_file(table("stored.csv.zip"));
    const std::size_t digit = zip.find("4500");
    ASSERT_NE(digit, std::string::npos);
    zip[digit] = '5';
    EXPECT_THAT(error_of(zip, {}, "b.zip"), HasSubstr("the checksum is wrong"));
}

} // namespace
} // namespace rekindle::market
