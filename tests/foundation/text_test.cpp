#include <rekindle/foundation/text.h>

#include <gtest/gtest.h>

#include <cstdint>

namespace rekindle {
namespace {

TEST(Text, NumbersAgreeWithTheirNouns) {
    EXPECT_EQ(counted(0, "row"), "0 rows");
    EXPECT_EQ(counted(1, "row"), "1 row");
    EXPECT_EQ(counted(2, "row"), "2 rows");
    EXPECT_EQ(counted(1, "batch", "batches"), "1 batch");
    EXPECT_EQ(counted(1234, "batch", "batches"), "1,234 batches");
    EXPECT_EQ(counted(1, "row is", "rows are"), "1 row is");
    EXPECT_EQ(counted(21, "row"), "21 rows");
    EXPECT_EQ(counted(std::size_t{1}, "row"), "1 row");
    EXPECT_EQ(counted(1.0, "point"), "1 point");
    EXPECT_EQ(counted(0.25, "point"), "0.25 points");
    EXPECT_EQ(counted(std::uint16_t{1234}, "row"), "1,234 rows");
    EXPECT_EQ(counted(~std::uint64_t{0}, "byte"), "18,446,744,073,709,551,615 bytes");
}

} // namespace
} // namespace rekindle
