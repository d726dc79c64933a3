#pragma once
/// The files that make_tables.py wrote.

#include "reading_support.h"

namespace rekindle::market {

inline std::filesystem::path table(const std::string& name) {
    return std::filesystem::path(REKINDLE_TEST_DATA) / "tables" / name;
}

/// Everything but contracts. `stamp` says what the format's timestamps mean.
inline void expect_bars_of_the_csv(const BarTable& bars, StampAt stamp = StampAt::bar_end) {
    ReadOptions options = options_for(table("bars.csv"));
    options.stamp = stamp;
    const ReadResult csv = read_with(options);
    const BarColumns expected = csv.bars.columns();
    ASSERT_EQ(expected.size(), 200U);
    EXPECT_EQ(copy_of(bars.columns().time), copy_of(expected.time));
    EXPECT_EQ(copy_of(bars.columns().open), copy_of(expected.open));
    EXPECT_EQ(copy_of(bars.columns().high), copy_of(expected.high));
    EXPECT_EQ(copy_of(bars.columns().low), copy_of(expected.low));
    EXPECT_EQ(copy_of(bars.columns().close), copy_of(expected.close));
    EXPECT_EQ(copy_of(bars.columns().volume), copy_of(expected.volume));
    EXPECT_EQ(bars.metadata().tick.points, 0.25);
}

} // namespace rekindle::market
