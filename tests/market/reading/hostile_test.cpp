#include "reading_support.h"

#include <rekindle/base/philox.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/column_file.h>
#include <rekindle/market/simulate.h>

#include <string>

namespace rekindle::market {
namespace {

/// Changes, removes, repeats or inserts some bytes.
std::string mutated(std::string text, PhiloxStream& random) {
    const auto place = [&] { return random.next_below(static_cast<std::uint32_t>(text.size())); };
    constexpr std::string_view favorites = ",;\t\n\r\"#-.eE:0/ \0\xFF\x1FZ";
    for (std::uint32_t changes = 1 + random.next_below(4); changes > 0 && !text.empty(); --changes)
        switch (random.next_below(6)) {
        case 0:
            text[place()] = static_cast<char>(random.next_u32());
            break;
        case 1:
            text[place()] = favorites[random.next_below(favorites.size())];
            break;
        case 2:
            text.erase(place(), 1 + random.next_below(40));
            break;
        case 3:
            text.insert(place(), text.substr(place(), random.next_below(60)));
            break;
        case 4:
            text.insert(place(), 1, favorites[random.next_below(favorites.size())]);
            break;
        default:
            text.resize(place());
            break;
        }
    return text;
}

void expect_valid(const BarTable& table) {
    const BarColumns bars = table.columns();
    ASSERT_GT(bars.size(), 0u);
    for (std::size_t i = 0; i < bars.size(); ++i) {
        ASSERT_LE(bars.low[i], std::min(bars.open[i], bars.close[i]));
        ASSERT_GE(bars.high[i], std::max(bars.open[i], bars.close[i]));
        ASSERT_GT(bars.low[i], 0);
        ASSERT_GE(bars.volume[i], 0);
        ASSERT_LT(bars.contract[i], table.metadata().contracts.size());
        if (i > 0) {
            ASSERT_TRUE(bars.time[i - 1] < bars.time[i] ||
                        (bars.time[i - 1] == bars.time[i] && bars.contract[i - 1] < bars.contract[i]));
        }
    }
}

/// For any input: either valid bars or a usage error.
void read_or_reject(const ReadOptions& options) {
    try {
        expect_valid(read_with(options).bars);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage) << error.render();
        EXPECT_FALSE(error.message().empty());
    }
}

TEST(HostileBars, MutatedFilesAreReadOrRejected) {
    const TestFolder folder;
    std::string merged;
    simulate_csv({.bars = 30, .seed = 3}, [&](std::string_view piece) { merged += piece; });
    const std::string seeds[] = {
        merged,
        "20241212 050100;6152.5;6153;6152;6152;120\r\n20241212 050200;6152;6152.25;6151;6151.75;7\r\n",
        "Date,Time,Open,High,Low,Close,Volume\n12/12/2024,5:01 AM,1.5,2,1,1.25,3\n12/12/2024,5:02 "
        "AM,1.5,2,1,1.25,3\n",
        ",Open,High,Low,Close,Volume\n\"2024-12-12T05:01:00-05:00\",\"1.5\",2,1,1.25,3\n2024-12-12T05:02:00-"
        "05:00,1e0,2,1,1.25,3\n",
    };
    PhiloxStream random(11, RandomPurpose::test);
    for (int i = 0; i < 2000; ++i) {
        ReadOptions options;
        options.paths = {folder.write("bars.csv", mutated(seeds[i % 4], random))};
        options.skip_bad_rows = i % 3 != 0;
        options.clock = i % 5 == 0 ? Clock::exchange : Clock::utc;
        if (i % 7 == 0) {
            options.chunk_size = 1 + i % 11;
            options.column_file = folder.path() / "columns";
        }
        read_or_reject(options);
    }
}

TEST(HostileBars, EveryTruncationIsReadOrRejected) {
    const TestFolder folder;
    std::string text;
    simulate_csv({.bars = 12, .seed = 3}, [&](std::string_view piece) { text += piece; });
    for (std::size_t size = 0; size < text.size(); ++size)
        read_or_reject(options_for(folder.write("bars.csv", text.substr(0, size))));
}

TEST(HostileBars, MutatedVixFilesAreReadOrRejected) {
    const TestFolder folder;
    const std::string seed =
        "DATE,OPEN,HIGH,LOW,CLOSE\n07/01/2024,12,13,11,12.22\n07/02/2024,12,13,11,12.03\n";
    ReadOptions options = options_for(
        folder.write("bars.csv", "time,open,high,low,close,volume\n2024-07-03 12:00:00,1,1,1,1,1\n"));
    PhiloxStream random(12, RandomPurpose::test);
    for (int i = 0; i < 1000; ++i) {
        options.vix = folder.write("vix.csv", mutated(seed, random));
        read_or_reject(options);
    }
}

TEST(HostileBars, MutatedColumnFilesAreReadOrRejected) {
    const TestFolder folder;
    const auto path = folder.path() / "bars.columns";
    write_column_file(path, simulate_table({.bars = 20, .seed = 3}));
    const std::string seed = read_file(path);
    const BarTable table = open_column_file(path);
    EXPECT_EQ(table.size(), 20u);
    PhiloxStream random(13, RandomPurpose::test);
    for (int i = 0; i < 1000; ++i) {
        std::ofstream(path, std::ios::binary) << mutated(seed, random);
        try {
            const BarTable damaged = open_column_file(path);
            for (const std::uint16_t contract : damaged.columns().contract)
                ASSERT_LT(contract, damaged.metadata().contracts.size());
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage) << error.render();
        }
    }
    for (std::size_t size = 0; size < seed.size(); size += 7) {
        std::ofstream(path, std::ios::binary) << seed.substr(0, size);
        EXPECT_THROW(open_column_file(path), Error) << size;
    }
}

TEST(HostileBars, FailedReadWritesNoColumnFile) {
    const TestFolder folder;
    ReadOptions options = options_for(
        folder.write("bars.csv", "time,open,high,low,close,volume\n2024-07-03 12:00:00,1,1,1,1,-2\n"));
    options.chunk_size = 10;
    options.column_file = folder.path() / "bars.columns";
    EXPECT_THROW(read_with(options), Error);
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path()))
        ++files;
    EXPECT_EQ(files, 1u);
}

} // namespace
} // namespace rekindle::market
