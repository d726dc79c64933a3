#include <rekindle/base/philox.h>

#include <gtest/gtest.h>

namespace rekindle {
namespace {

// The known-answer vectors published with Random123 1.14 (tests/kat_vectors, philox4x32 10).
TEST(Philox, MatchesPublishedVectors) {
    EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
              (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
              (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, StreamsDifferByPurposeStepAndIndex) {
    const auto first = [](PhiloxStream stream) { return stream.next_u64(); };
    const auto base = first(PhiloxStream(1, RandomPurpose::shuffle, 0, 0));
    EXPECT_NE(base, first(PhiloxStream(1, RandomPurpose::dropout, 0, 0)));
    EXPECT_NE(base, first(PhiloxStream(1, RandomPurpose::shuffle, 1, 0)));
    EXPECT_NE(base, first(PhiloxStream(1, RandomPurpose::shuffle, 0, 1)));
    EXPECT_NE(base, first(PhiloxStream(2, RandomPurpose::shuffle, 0, 0)));
}

} // namespace
} // namespace rekindle
